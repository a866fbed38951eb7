from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stt_ru.analysis.aligned_rows import AlignedReport, AlignedRow
from stt_ru.analysis.error_analysis import find_confusions, worst
from stt_ru.analysis.slices import slice_groups
from stt_ru.results import FileResult, ModelReport
from stt_ru.scoring.counts import score_texts
from stt_ru.scoring.multi_reference import score_branch
from stt_ru.text.normalize import normalize

TEXTS = st.lists(st.sampled_from("абвг"), max_size=6).map(" ".join)


def report(*rows: FileResult) -> ModelReport:
    return ModelReport(model="m", label="m", rows=len(rows), results=rows)


def row(reference: str, hypothesis: str, audio: str = "a.wav", **more: object) -> FileResult:
    return FileResult(
        audio=audio,
        reference=reference,
        hypothesis=hypothesis,
        score=score_texts(normalize(reference), normalize(hypothesis)),
        **more,  # type: ignore[arg-type]  # fields of the result
    )


FAILED = FileResult(audio="x.wav", reference="да", error="файл пуст")


def test_confusions_are_counted_with_the_rows_they_occurred_in() -> None:
    found = find_confusions(
        AlignedReport(
            report(
                row("Мама мыла раму", "мама мыло раму"),
                FAILED,
                row("мыла", "мыло"),
                row("да нет", "да"),
                row("да", "ну да"),
            )
        )
    )
    (one,) = found.substitutions
    assert (one.reference, one.hypothesis, one.count, one.rows) == ("мыла", "мыло", 2, (0, 2))
    assert [(c.reference, c.rows) for c in found.deletions] == [("нет", (3,))]
    assert [(c.hypothesis, c.rows) for c in found.insertions] == [("ну", (4,))]
    assert [(w.word, w.errors, w.occurrences) for w in found.words] == [
        ("мыла", 2, 2),
        ("нет", 1, 1),
    ]


@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=5))
def test_confusions_add_up_to_the_reported_counts(pairs: list[tuple[str, str]]) -> None:
    whole = report(*(row(one, two) for one, two in pairs))
    found, words = find_confusions(AlignedReport(whole)), whole.score.words
    assert sum(one.count for one in found.substitutions) == words.substitutions
    assert sum(one.count for one in found.deletions) == words.deletions
    assert sum(one.count for one in found.insertions) == words.insertions
    assert sum(one.errors for one in found.words) == words.substitutions + words.deletions


def test_words_matched_by_anything_are_not_confusions() -> None:
    texts = [
        ("<*> да {ну}", "<*> да", "вот и да"),
        ("{тысяча|1000} рублей", "1000 рублей", "1000 рубль"),
        ("<*>", "<*>", "шум"),
    ]
    rows = [
        FileResult(
            audio=f"{n}.wav",
            reference=reference,
            chosen=chosen,
            hypothesis=text,
            score=score_branch(chosen, text),
        )
        for n, (reference, chosen, text) in enumerate(texts)
    ]
    assert AlignedRow(rows[0]).pairs == [("<*>", "вот"), ("<*>", "и"), ("да", "да")]
    found = find_confusions(AlignedReport(report(*rows)))
    assert [(c.reference, c.hypothesis) for c in found.substitutions] == [("рублей", "рубль")]
    assert (found.deletions, found.insertions) == ((), ())
    assert [(w.word, w.errors, w.occurrences) for w in found.words] == [("рублей", 1, 1)]


def test_a_failed_row_has_no_alignment() -> None:
    assert AlignedRow(FAILED).pairs == []


def test_worst_rows_by_errors_and_by_rate() -> None:
    long, short = row("а б в г", "а х х г", "long"), row("а", "б", "short")
    noise = row("", "шум", "noise")
    whole = report(long, short, noise, FAILED, row("да", "да"))
    assert [one.audio for one in worst(whole, 9)] == ["long", "noise", "short"]
    assert [one.audio for one in worst(whole, 2, by="rate")] == ["noise", "short"]
    with pytest.raises(ValueError, match="by='x'"):
        worst(whole, 1, by="x")


def test_slices_by_duration_rate_channel_and_columns() -> None:
    rows = [
        row(
            "а б",
            "а",
            str(n),
            duration=1.0 + 9 * (n % 2),
            channel=n % 2,
            extra={"кто": "АБ"[n % 2]},
        )
        for n in range(12)
    ]
    groups = {group.title: group.slices for group in slice_groups(report(*rows, FAILED))}
    assert list(groups) == ["Длительность, с", "Темп, слов в секунду", "Канал", "кто"]
    assert [(s.value, s.rows) for s in groups["Длительность, с"]] == [("до 2", 6), ("10–20", 6)]
    assert [(s.value, s.words.rate) for s in groups["кто"]] == [("А", 0.5), ("Б", 0.5)]
    assert all(s.interval is not None for s in groups["Канал"])
    assert [s.value for s in groups["Темп, слов в секунду"]] == ["до 1", "2–2.5"]


def test_a_column_of_ids_or_of_a_single_value_is_not_sliced() -> None:
    rows = [row("а", "а", str(n), extra={"id": n, "set": "x", "empty": ""}) for n in range(40)]
    assert slice_groups(report(*rows)) == []


@pytest.mark.parametrize(
    ("values", "slices"),
    [
        pytest.param(
            [f"{n},5" for n in range(-4, 36)],
            ["до 6.5", "6.5–16.5", "16.5–26.5", "от 26.5"],
            id="numbers",
        ),
        pytest.param([n % 40 for n in range(400)], ["до 10", "10–20", "20–30", "от 30"], id="ages"),
        pytest.param(list(range(400)), [], id="ids"),
        pytest.param([f"{n}-я" for n in range(40)], [], id="words"),
        pytest.param([*[f"{n}.5" for n in range(40)], "нет"], [], id="a word among numbers"),
        pytest.param(
            [*["0.5"] * 60, *[f"{n}.5" for n in range(40)]],
            ["до 15.5", "от 15.5"],
            id="mostly the least value",
        ),
        pytest.param(
            [*["9.5"] * 60, *[f"{n}.25" for n in range(40)]],
            ["до 9.5", "9.5–15.25", "от 15.25"],
            id="mostly one value",
        ),
        pytest.param(
            [*["-9"] * 900, *[f"{n}.5" for n in range(40)]], [], id="almost only one value"
        ),
        pytest.param([f"{n}e400" for n in range(1, 40)], [], id="infinite"),
    ],
)
def test_a_column_of_many_numbers_is_cut_into_parts(
    values: list[object], slices: list[str]
) -> None:
    rows = [row("да", "да", extra={"x": value}) for value in values]
    groups = slice_groups(report(*rows))
    assert [one.value for group in groups for one in group.slices] == slices
    assert sum(one.rows for group in groups for one in group.slices) in (0, len(values))


def test_slices_are_in_numeric_order() -> None:
    rows = [row("а", "а", str(n), extra={"snr": str(n)}) for n in (10, 9, 2)]
    (group,) = slice_groups(report(*rows))
    assert [one.value for one in group.slices] == ["2", "9", "10"]
