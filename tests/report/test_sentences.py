from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stt_ru.analysis.aligned_rows import AlignedReport
from stt_ru.analysis.loops import LOOP_TIMES, LOOP_WORDS, has_loop
from stt_ru.provenance import Signature
from stt_ru.report.sentences import notes
from stt_ru.results import FileResult, ModelReport
from stt_ru.scoring.counts import score_texts
from stt_ru.text.normalize import normalize


def row(reference: str, hypothesis: str, audio: str = "a.wav") -> FileResult:
    score = score_texts(normalize(reference), normalize(hypothesis))
    return FileResult(audio=audio, reference=reference, hypothesis=hypothesis, score=score)


def failed(audio: str, channel: int | None = None) -> FileResult:
    return FileResult(audio=audio, channel=channel, reference="да", error="файл пуст")


def report(*results: FileResult, label: str = "m", warnings: tuple[str, ...] = ()) -> ModelReport:
    return ModelReport(
        model=label, label=label, rows=len(results), results=results, warnings=warnings
    )


def texts(*reports: ModelReport) -> list[str]:
    return [note.text for note in notes([AlignedReport(report) for report in reports])]


def test_nothing_to_say() -> None:
    assert texts(report(row("да", "да"))) == []


def test_failed_rows_are_named_with_their_channel() -> None:
    found = notes([AlignedReport(report(failed("a.wav"), failed("b.wav", 1)))])
    assert [(note.kind, note.text) for note in found] == [
        ("error", "a.wav: файл пуст"),
        ("error", "b.wav, канал 1: файл пуст"),
    ]


def test_many_failures_are_counted_after_twenty() -> None:
    found = texts(report(*(failed(f"{number}.wav") for number in range(35))))
    assert len(found) == 21
    assert found[-1] == "… и ещё 15"


def test_equal_warnings_come_once() -> None:
    assert texts(report(warnings=("предупреждение",) * 3)) == ["предупреждение (×3)"]


def test_several_models_are_named() -> None:
    found = texts(report(failed("a.wav"), label="a"), report(failed("a.wav"), label="b"))
    assert found == ["a: a.wav: файл пуст", "b: a.wav: файл пуст"]


def test_a_model_that_did_not_load_is_an_error() -> None:
    (note,) = notes(
        [AlignedReport(ModelReport(model="m", label="m", rows=2, error="нет каталога"))]
    )
    assert (note.kind, note.text) == ("error", "m не загружена: нет каталога")


def test_digits_on_one_side_are_a_warning_once_a_model() -> None:
    found = texts(report(row("пять", "5"), row("5", "пять"), row("да", "да")))
    assert len(found) == 1
    assert "строк: 2 из 3" in found[0]
    assert "WER завышен" in found[0]


def test_a_loop_is_named_with_its_share_of_the_errors() -> None:
    looping = row("спасибо", "спасибо " + "до свидания " * 30, audio="loop.wav")
    found = texts(report(looping, row("раз два три", "раз два"), row("да", "да")))
    assert len(found) == 1
    assert "loop.wav" in found[0]
    assert "98.4 % всех ошибок" in found[0]  # 60 of 61
    assert "без них WER 25.0 %" in found[0]  # 1 of 4


def test_a_hypothesis_five_times_too_long_is_named() -> None:
    babble = row("да нет может быть", " ".join("абвгдежзиклмнопрстуф"))
    assert "говорит лишнее: a.wav" in texts(report(babble))[0]
    shorter = row("да нет может быть", " ".join("абвгдежзиклмнопрсту"))
    assert texts(report(shorter)) == []


def test_a_loop_that_was_really_said_is_none() -> None:
    said = "да " * 30
    assert texts(report(row(said, said + "нет"))) == []


def test_models_that_failed_on_different_rows_are_compared_on_the_common_ones() -> None:
    first = report(row("а б", "а б"), failed("b.wav"), row("г д", "г"), label="первая")
    second = report(row("а б", "а"), row("в", "в", "b.wav"), row("г д", "г д"), label="вторая")
    found = texts(first, second)
    assert found[-1] == (
        "модели не справились с разными записями, и WER в таблице посчитан на разных наборах; "
        "WER на общих строках (2): первая 25.0 %; вторая 25.0 %"
    )


def test_models_that_failed_on_the_same_rows_need_no_comparison() -> None:
    first = report(row("а", "а"), failed("b.wav"), label="первая")
    second = report(row("а", "б"), failed("b.wav"), label="вторая")
    assert all("разных наборах" not in text for text in texts(first, second))


@given(
    st.lists(st.sampled_from("абв"), min_size=1, max_size=LOOP_WORDS + 2),
    st.integers(1, LOOP_TIMES + 2),
    st.lists(st.sampled_from("где"), max_size=5),
)
def test_a_loop_is_found_exactly_when_a_phrase_stands_ten_times(
    phrase: list[str], times: int, around: list[str]
) -> None:
    words = around + phrase * times + around

    def obvious() -> bool:
        return any(
            words[start : start + period] * LOOP_TIMES == words[start : start + period * LOOP_TIMES]
            for period in range(1, LOOP_WORDS + 1)
            for start in range(len(words))
            if len(words[start : start + period * LOOP_TIMES]) == period * LOOP_TIMES
        )

    assert has_loop(words) is obvious()


@pytest.mark.parametrize("words", [[], ["да"], ["да"] * 9])
def test_short_texts_have_no_loop(words: list[str]) -> None:
    assert not has_loop(words)


@pytest.mark.parametrize(
    ("reference", "hypothesis"),
    [("в", "м" * 444), ("хорошо", "хо" + "ро" * 12 + "шо"), ("да", "да" + "а" * 10)],
)
def test_a_loop_within_a_word_is_a_loop(reference: str, hypothesis: str) -> None:
    rows = [row(reference, hypothesis, audio="loop.wav"), row("раз два", "раз тва")]
    (found,) = texts(report(*rows))
    assert found.startswith("модель зациклилась или говорит лишнее: loop.wav; на них 50.0 % всех")


def test_a_loop_within_a_word_is_measured_in_characters() -> None:
    rows = [row("в", "м" * 444, audio="loop.wav"), row("раз два", "раз тва")]
    (found,) = texts(report(*rows))
    assert found.endswith(
        "на них 50.0 % всех ошибок в словах, 99.8 % – в символах, без них WER 50.0 %, CER 14.3 %"
    )


@pytest.mark.parametrize(
    ("reference", "hypothesis"),
    [("ммм", "мммм"), ("а" * 12, "а" * 11), ("да", "дада"), ("10000000000", "1000000000000000")],
)
def test_long_sounds_and_figures_are_no_loops(reference: str, hypothesis: str) -> None:
    assert texts(report(row(reference, hypothesis))) == []


def test_credits_of_videos_are_named_as_invented() -> None:
    credits = "Редактор субтитров А.Семкин Корректор А.Егорова"
    found = texts(report(row("фунт", credits, audio="pound.wav"), row("раз два три", "раз два")))
    assert found == [
        "похоже на выдуманный текст, его нет ни в одном эталоне: «редактор субтитров» – pound.wav; "
        "на них 87.5 % всех ошибок в словах, без них WER 33.3 %"
    ]


def test_one_text_for_unrelated_recordings_is_named_as_invented() -> None:
    others = ["раз", "два", "три"]
    rows = [row(one, "и так далее", audio=f"{one}.wav") for one in others]
    (found,) = texts(report(*rows, row("пять шесть", "пять", audio="b.wav")))
    assert "«и так далее» – раз.wav, два.wav, три.wav; на них 90.0 % всех ошибок" in found


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([("раз", "и так далее"), ("два", "и так далее")], id="two recordings"),
        pytest.param([("раз", "и так далее")] * 5, id="one reference"),
        pytest.param([("раз", "да"), ("два", "да"), ("три", "да")], id="one word"),
        pytest.param(
            [("раз", "и так далее"), ("два", "и так далее"), ("пять", "и так далее"),
             ("и так далее да", "и так далее")],
            id="somebody said it",
        ),
        pytest.param(
            [("раз и", "раз и так"), ("и так", "раз и так"), ("раз", "раз и так")],
            id="some words are right",
        ),
        pytest.param(
            [("спасибо за просмотр", "спасибо за просмотр"), ("да", "спасибо за просмотр")],
            id="credits that were said",
        ),
    ],
)  # fmt: skip
def test_what_may_have_been_said_is_not_invented(rows: list[tuple[str, str]]) -> None:
    made = [row(one, two, audio=f"{n}.wav") for n, (one, two) in enumerate(rows)]
    assert all("выдуманный" not in text for text in texts(report(*made)))


def test_speech_that_was_not_found_is_named_with_what_to_try() -> None:
    rows = [row("раз два", "", audio="quiet.wav"), row("три четыре", "три"), row("", "")]
    (found,) = texts(report(*rows))
    assert found == (
        "речь не найдена, хотя в эталоне слова есть: quiet.wav; на них 66.7 % всех ошибок "
        "в словах, без них WER 50.0 %"
    )
    signed = replace(report(*rows), signature=Signature({"vad": "silero(threshold=0.5)"}))
    (found,) = texts(signed)
    assert found.endswith(
        ". Если речь там есть, её не нашёл VAD: попробуйте --vad-threshold поменьше, "
        "--min-speech-ms поменьше или --no-vad"
    )


def test_rates_that_do_not_exist_are_not_spoken_of() -> None:
    found = texts(report(row("", "спасибо " * 30), row("", "5")))
    assert found
    assert all("WER" not in text and "CER" not in text and "–" not in text for text in found)


def test_many_rows_of_few_texts_are_not_independent() -> None:
    rows = [row(f"фраза {n % 9}", f"фраза {n % 9}", audio=f"{n}.wav") for n in range(126)]
    found = texts(report(*rows, label="a"), report(*rows, label="b"))
    assert len(found) == 1
    assert found[0].startswith("разных эталонов 9 на 126 строк: ")
    assert texts(report(*rows[:20])) == []  # the interval has a warning of its own then
    others = [row(f"фраза {n}", f"фраза {n}", audio=f"{n}.wav") for n in range(30)]
    assert texts(report(*others)) == []
