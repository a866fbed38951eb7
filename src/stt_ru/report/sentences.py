"""Sentences beside the table: which model is better, what misleads, what went wrong."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from stt_ru.analysis.invented import invented_texts, unheard_rows
from stt_ru.analysis.loops import has_run_away
from stt_ru.analysis.punctuation import MARKS
from stt_ru.analysis.significance import (
    FEW_BLOCKS,
    LEAST_BLOCKS,
    RESAMPLES,
    macro_average,
    row_keys,
)
from stt_ru.report.table import percent
from stt_ru.scoring.counts import total_score

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from stt_ru.analysis.aligned_rows import AlignedReport, AlignedRow
    from stt_ru.analysis.punctuation import Writing
    from stt_ru.analysis.significance import Comparison, RowKey, Statistics
    from stt_ru.analysis.spelling import Spelling
    from stt_ru.results import FileResult, ModelReport
    from stt_ru.scoring.counts import Score

MOST_LINES: Final = 20
"""Recordings named one by one; the rest are counted."""

_MOST_NAMED: Final = 5  # recordings in one sentence
_MOST_TEXTS: Final = 3
_LONGEST_TEXT: Final = 40  # characters
_MUCH_MORE: Final = 1.5  # times the share of word errors

MOST_PAIRS: Final = 6
"""Pairs of four models; of more models only the best one is set against the others."""

LEAST_SHARE: Final = 0.05
"""Share of the errors from which spelling is worth a sentence."""


@dataclass(frozen=True, slots=True)
class Note:
    """One sentence in Russian after the table.

    Attributes:
        kind: ``error`` for what was asked for and not done, ``warning`` for what to keep in mind.
        text: Without a full stop at the end.
    """

    kind: Literal["error", "warning"]
    text: str


def conclusions(
    reports: Sequence[ModelReport],
    statistics: Statistics,
    spellings: Sequence[Spelling | None],
    writings: Sequence[Writing | None],
) -> list[str]:
    """What the figures say, in the order it is read: verdicts, spelling, punctuation.

    Args:
        reports: The models.
        statistics: Their comparisons.
        spellings: Rates under the spelling rules, one per report; None where it did not load.
        writings: Punctuation and case, one per report; None where it did not load.
    """
    lines = verdicts(statistics, reports)
    for report, spelling in zip(reports, spellings, strict=True):
        if spelling is not None:
            lines += spelling_lines(report, spelling, name_model=len(reports) > 1)
    return lines + writing_lines(reports, writings)


def notes(reports: Sequence[AlignedReport]) -> list[Note]:
    """All notes on the reports, in the order of the models, those on several models last."""
    found: list[Note] = []
    for report in reports:
        found += _model_notes(report, name_model=len(reports) > 1)
    found += _different_sets([one.report for one in reports])
    found += _few_texts(reports)
    return found


def _model_notes(aligned: AlignedReport, *, name_model: bool) -> Iterator[Note]:
    report = aligned.report
    prefix = f"{report.label}: " if name_model else ""
    if report.error is not None:
        yield Note("error", f"{report.label} не загружена: {report.error}")
        return
    yield from _failures(report, prefix)
    for text in _limited(Counter(report.warnings)):
        yield Note("warning", prefix + text)
    if (mismatches := report.digits_mismatch) and report.wer is not None:
        yield Note(
            "warning",
            f"{prefix}цифры стоят только в эталоне или только в тексте модели, строк: {mismatches} "
            f"из {report.files}; WER завышен, потому что числа написаны по-разному. Пишите числа в "
            "эталонах так, как их пишет модель (GigaAM-v3 E2E – цифрами, RNN-T и CTC – словами), "
            "или сравнивайте записи без чисел",
        )
    yield from _runaways(aligned, prefix)
    yield from _invented(aligned, prefix)
    yield from _unheard(aligned, prefix)


def _failures(report: ModelReport, prefix: str) -> Iterator[Note]:
    sentences = Counter(
        f"{result.audio}{_channel(result)}: {result.error}"
        for result in report.results
        if result.error is not None
    )
    for text in _limited(sentences):
        yield Note("error", prefix + text)


def _limited(sentences: Counter[str]) -> Iterator[str]:
    """Each sentence once, with how often it came; beyond `MOST_LINES` only their number."""
    for number, (text, times) in enumerate(sentences.items()):
        if number == MOST_LINES:
            yield f"… и ещё {len(sentences) - MOST_LINES}"
            return
        yield f"{text} (×{times})" if times > 1 else text


def _channel(result: FileResult) -> str:
    return "" if result.channel is None else f", канал {result.channel}"


def _runaways(report: AlignedReport, prefix: str) -> Iterator[Note]:
    rows = [row for row in report.scored if has_run_away(row)]
    if rows:
        yield _spoilt(
            report, rows, f"{prefix}модель зациклилась или говорит лишнее: {_named(rows)}"
        )


def _invented(report: AlignedReport, prefix: str) -> Iterator[Note]:
    found = invented_texts(report)
    if not found:
        return
    texts = "; ".join(
        f"«{_shortened(one.text)}» – {_named(one.rows)}" for one in found[:_MOST_TEXTS]
    )
    more = f" и ещё текстов: {len(found) - _MOST_TEXTS}" if len(found) > _MOST_TEXTS else ""
    rows = [row for one in found for row in one.rows]
    yield _spoilt(
        report,
        rows,
        f"{prefix}похоже на выдуманный текст, его нет ни в одном эталоне: {texts}{more}",
    )


def _unheard(report: AlignedReport, prefix: str) -> Iterator[Note]:
    rows = unheard_rows(report)
    if not rows:
        return
    signature = report.report.signature
    vad = "none" if signature is None else signature.fields.get("vad", "none")
    hint = ""
    if vad.startswith("silero"):
        hint = (
            ". Если речь там есть, её не нашёл VAD: попробуйте --vad-threshold поменьше, "
            "--min-speech-ms поменьше или --no-vad"
        )
    yield _spoilt(
        report, rows, f"{prefix}речь не найдена, хотя в эталоне слова есть: {_named(rows)}", hint
    )


def _spoilt(report: AlignedReport, rows: Sequence[AlignedRow], what: str, hint: str = "") -> Note:
    """What is wrong with the rows, their share of the errors, and the rates without them."""
    total = report.report.score
    theirs = total_score(row.result.score for row in rows if row.result.score is not None)
    chosen = set(map(id, rows))
    others = total_score(
        row.result.score
        for row in report.scored
        if id(row) not in chosen and row.result.score is not None
    )
    shares = []
    if total.words.errors and total.words.length:
        shares.append(f"{percent(theirs.words.errors / total.words.errors)} % всех ошибок в словах")
    if _is_mostly_letters(theirs, total):
        shares.append(f"{percent(theirs.chars.errors / total.chars.errors)} % – в символах")
    without = [f"WER {percent(others.words.rate)} %"] if others.words.length else []
    if without and _is_mostly_letters(theirs, total):
        without.append(f"CER {percent(others.chars.rate)} %")
    text = what
    if shares:
        text += f"; на них {', '.join(shares)}"
    if without:
        text += f", без них {', '.join(without)}"
    return Note("warning", text + hint)


def _is_mostly_letters(theirs: Score, total: Score) -> bool:
    """Whether the rows spoil the rate of characters far more than that of words."""
    if not (total.words.errors and total.chars.errors):
        return False
    words = theirs.words.errors / total.words.errors
    return theirs.chars.errors / total.chars.errors >= _MUCH_MORE * words


def _named(rows: Sequence[AlignedRow]) -> str:
    """The recordings of the rows, those with most errors first; the rest counted."""

    def errors(row: AlignedRow) -> int:
        return row.result.score.words.errors if row.result.score is not None else 0

    worst_first = sorted(rows, key=errors, reverse=True)[:_MOST_NAMED]
    names = ", ".join(f"{row.result.audio}{_channel(row.result)}" for row in worst_first)
    more = len(rows) - _MOST_NAMED
    return f"{names} и ещё {more}" if more > 0 else names


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT].rstrip()}…"


def _different_sets(reports: Sequence[ModelReport]) -> Iterator[Note]:
    scored = [report for report in reports if report.error is None]
    rows = [list(zip(row_keys(report), report.results, strict=True)) for report in scored]
    if any({key for key, _ in one} != {key for key, _ in rows[0]} for one in rows):
        return  # the verdicts say on which rows each pair is compared
    failed = [{key for key, result in one if result.error is not None} for one in rows]
    if len(scored) < 2 or all(keys == failed[0] for keys in failed):
        return
    missing = set().union(*failed)
    rates = "; ".join(
        f"{report.label} {percent(_rate_without(one, missing))} %"
        for report, one in zip(scored, rows, strict=True)
    )
    yield Note(
        "warning",
        "модели не справились с разными записями, и WER в таблице посчитан на разных наборах; "
        f"WER на общих строках ({scored[0].files - len(missing)}): {rates}",
    )


def _few_texts(reports: Sequence[AlignedReport]) -> Iterator[Note]:
    """A warning when many rows say the same few things: they are not independent."""
    for report in reports:
        references = [row.reference for row in report.scored]
        distinct = len(set(references))
        if len(references) >= FEW_BLOCKS > distinct:
            yield Note(
                "warning",
                f"разных эталонов {distinct} на {len(references)} строк: записи одних и тех же "
                "фраз не независимы, интервал «95 %» для них слишком узок; соберите в группу "
                "строки одной фразы или одного диктора (--group-by)",
            )
            return  # of the same rows for every model


def _rate_without(
    rows: Sequence[tuple[RowKey, FileResult]], missing: AbstractSet[RowKey]
) -> float | None:
    return total_score(
        result.score for key, result in rows if key not in missing and result.score is not None
    ).words.rate


def verdicts(statistics: Statistics, reports: Sequence[ModelReport]) -> list[str]:
    """One sentence in Russian per pair of models: which is better, and whether to believe it.

    Another follows where the mean WER of the rows orders the two the other way.
    """
    pairs = statistics.comparisons
    if len(pairs) > MOST_PAIRS:
        rated = [report for report in reports if report.error is None and report.wer is not None]
        best = min(rated, key=lambda report: report.wer or 0.0).label if rated else ""
        pairs = [pair for pair in pairs if best in (pair.label_a, pair.label_b)]
    macro = {report.label: macro_average(row.wer for row in report.results) for report in reports}
    lines = []
    for pair in pairs:
        lines.append(verdict(pair))
        lines += _other_order(pair, macro.get(pair.label_a), macro.get(pair.label_b))
    return lines


def _other_order(pair: Comparison, macro_a: float | None, macro_b: float | None) -> Iterator[str]:
    if not pair.difference or macro_a is None or macro_b is None:
        return
    if (macro_b - macro_a) * pair.difference < 0:
        (better, least), (worse, most) = sorted(
            [(pair.label_a, macro_a), (pair.label_b, macro_b)], key=lambda one: one[1]
        )
        yield (
            f"{better} и {worse}: по среднему WER строк порядок обратный, {percent(least)} % "
            f"против {percent(most)} %; короткие строки весят в нём столько же, сколько длинные"
        )


def verdict(pair: Comparison) -> str:
    """What is to be believed of one pair."""
    a, b, difference = pair.label_a, pair.label_b, pair.difference
    where = (
        f" на общих строках ({pair.rows}; нет в паре или с другим эталоном: {pair.left_out})"
        if pair.left_out
        else ""
    )
    if difference is None:
        return f"{a} и {b}: сравнить нельзя, в общих строках нет слов"
    if difference == 0:
        return f"{a} и {b}: WER одинаков{where}, {percent(pair.wer_a)} %"
    better, worse = (a, b) if difference > 0 else (b, a)
    claim = f"{better} лучше {worse} на {percent(abs(difference))} п. п. WER{where}"
    if pair.left_out:
        claim += f", {percent(min(pair.wer_a or 0.0, pair.wer_b or 0.0))} % и "
        claim += f"{percent(max(pair.wer_a or 0.0, pair.wer_b or 0.0))} %"
    if pair.interval is None:
        return f"{claim}: верить рано, {_too_few(pair.blocks)}"
    low, high = pair.interval.low, pair.interval.high
    if difference < 0:
        low, high = -high, -low
    figures = f"95 %: {_signed(low)}…{_signed(high)}; наоборот {_share(pair.reversed_share)}"
    if pair.mapsswe_p is not None:
        figures += f"; MAPSSWE p {_p(pair.mapsswe_p)}"
    if not pair.is_significant:
        return f"{claim} ({figures}): различие статистически незначимо"
    if pair.has_few_blocks:
        return f"{claim} ({figures}): похоже на правду, но {_too_few(pair.blocks)}"
    return f"{claim} ({figures}): разнице можно верить"


def trust_notes(statistics: Statistics) -> list[Note]:
    """A warning when there are too few recordings to say how exact the rates are."""
    counts = [one.blocks for one in statistics.uncertainties if one is not None and one.blocks]
    if not counts or min(counts) >= FEW_BLOCKS:
        return []
    blocks = min(counts)
    what = "разных записей" if statistics.group_by is None else f"групп по «{statistics.group_by}»"
    if blocks < LEAST_BLOCKS:
        text = f"{what}: {blocks}, мало для интервала (нужно хотя бы {LEAST_BLOCKS}, лучше от "
    else:
        text = f"{what}: {blocks}, мало для надёжного интервала «95 %» (нужно хотя бы "
    return [Note("warning", f"{text}{FEW_BLOCKS}): на других записях WER может быть совсем иным")]


def _too_few(blocks: int) -> str:
    return f"независимых записей всего {blocks} (нужно хотя бы {FEW_BLOCKS})"


def _signed(rate: float) -> str:
    return percent(rate).replace("-", "−")


def _share(share: float | None) -> str:
    if not share:
        return f"менее чем в {100 / RESAMPLES:g} % выборок"
    digits = f"{100 * share:.2g}" if share < 0.01 else f"{100 * share:.0f}"
    return f"в {digits} % выборок"


def _p(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"


def spelling_lines(report: ModelReport, found: Spelling, *, name_model: bool) -> list[str]:
    """Sentences in Russian about what in WER is no fault of the model's ear, when it matters."""
    prefix = f"{report.label}: " if name_model else ""
    plain = found.counts["as_is"]
    lines = []
    for name, what in (
        ("numbers", "написание чисел: если «15» и «пятнадцать» считать одним"),
        ("compounds", "слитное и раздельное написание: если «не льзя» и «нельзя» считать одним"),
    ):
        counts = found.counts.get(name)
        if counts is None or not plain.errors:
            continue
        share = (plain.errors - counts.errors) / plain.errors
        if share >= LEAST_SHARE:
            lines.append(
                f"{prefix}{percent(share)} % ошибок в словах – {what}, "
                f"WER {percent(counts.rate)} % вместо {percent(plain.rate)} %"
            )
    if found.inserted:
        lines.append(
            f"{prefix}на записях без речи ({found.without_speech}) написано слов: {found.inserted}"
        )
    return lines


def writing_lines(reports: Sequence[ModelReport], writings: Sequence[Writing | None]) -> list[str]:
    """A sentence in Russian a model that writes marks or capitals, as its references do.

    Args:
        reports: The models.
        writings: What was found in each; None where the model did not load.
    """
    lines = []
    for report, found in zip(reports, writings, strict=True):
        parts = []
        if found and found.marks:
            rates = ", ".join(
                f"{MARKS[mark]} {percent(counts.f1)}" for mark, counts in found.marks.items()
            )
            parts.append(f"F1 знаков, %: {rates}")
        if found and found.case_words:
            parts.append(f"не тот регистр: {percent(found.case_rate)} % верных слов")
        if parts:
            prefix = f"{report.label}: " if len(reports) > 1 else ""
            lines.append(prefix + "; ".join(parts))
    return lines
