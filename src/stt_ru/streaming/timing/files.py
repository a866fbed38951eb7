"""Word timings read from files: a manifest's ``words`` field, CTM, TextGrid."""

from __future__ import annotations

import itertools
import json
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from stt_ru.errors import UsageError
from stt_ru.files.reading import describe_os_error, read_regular
from stt_ru.files.writing import write_report
from stt_ru.streaming.timing.transcription import Transcription, timed_transcription, words_to_json
from stt_ru.text.normalize import normalize
from stt_ru.transcripts.nist import ctm_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from stt_ru.manifest import Sample


@dataclass(frozen=True, slots=True)
class WordTime:
    """A word with its times, as read from a file.

    Attributes:
        word: The word as written.
        start_s: Audio time of its start, seconds.
        end_s: Audio time of its end, seconds.
    """

    word: str
    start_s: float
    end_s: float


def timings_from_words(words: object, place: str) -> Transcription:
    """Timed words from a manifest's ``words`` field: ``[{word, start, end}, …]``, seconds.

    Args:
        words: The value of the field.
        place: Location of the row, for error messages.

    Raises:
        UsageError: If it is not such a list.
    """
    if isinstance(words, str):  # JSON in a CSV cell
        try:
            words = json.loads(words)
        except ValueError as error:
            raise UsageError(f"{place}: words: это не JSON: {error}") from error
    if not isinstance(words, list):
        raise UsageError(f"{place}: words: нужен список {{word, start, end}}")
    values: list[str] = []
    times: list[tuple[float, float]] = []
    guessed: list[bool] = []
    for number, word in enumerate(words, start=1):
        try:
            values.append(str(word["word"]))
            times.append((float(word["start"]), float(word["end"])))
            guessed.append(bool(word.get("interpolated", False)))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UsageError(
                f"{place}: words: элемент {number}: нужно {{word, start, end}}, времена в секундах"
            ) from error
    try:
        transcription = timed_transcription(values, times)
    except UsageError as error:
        raise UsageError(f"{place}: words: {error}") from error
    marks = itertools.chain.from_iterable(
        [mark] * len(normalize(value).split()) for value, mark in zip(values, guessed, strict=True)
    )
    for token, mark in zip(transcription.tokens, marks, strict=True):
        token.is_interpolated = mark
    return transcription


def check_same_words(timed: Transcription, text: str, place: str) -> None:
    """Check that the timed words are those of the reference.

    Raises:
        UsageError: If they are not; the message names the first that differs.
    """
    expected = normalize(text).split()
    for number, (word, token) in enumerate(itertools.zip_longest(expected, timed.words), start=1):
        if word != token:
            raise UsageError(
                f"{place}: слова с временами не те, что в text: слово {number} – "
                f"«{token or 'ничего'}», а в тексте «{word or 'ничего'}»"
            )


def read_ctm(path: Path) -> dict[str, list[WordTime]]:
    """Words of a CTM file (NIST): ``recording channel start duration word [confidence]``.

    Returns:
        The words of each recording in order of time, seconds.

    Raises:
        UsageError: If the file cannot be parsed, with the file and line.
    """
    lines = ((number, line.strip()) for number, line in enumerate(_lines(path), start=1))
    found: dict[str, list[WordTime]] = {}
    for word in ctm_words(lines, str(path), alternatives=True):
        end_s = word.start_s + word.duration_s
        found.setdefault(word.recording, []).append(WordTime(word.word, word.start_s, end_s))
    for words in found.values():
        words.sort(key=lambda word: (word.start_s, word.end_s))
    return found


_TEXTGRID_TIERS: Final = ("words", "word", "слова")

# Praat reads free-standing strings and numbers and ignores everything else, e.g. «item [1]:» and
# «xmin =», so its long and short text formats are parsed alike.
_TEXTGRID_VALUE: Final = re.compile(
    r'"(?P<text>(?:[^"]|"")*)"|(?<!\S)(?P<number>[-+]?\d\S*)(?!\S)|!.*'
)


def read_textgrid(path: Path) -> list[WordTime]:
    """Words of a Praat TextGrid, long or short: tier «words» («word», «слова»), or the only tier.

    Raises:
        UsageError: If there is no such interval tier, or the file cannot be read.
    """
    try:
        tiers = _textgrid_tiers(_textgrid_values("\n".join(_lines(path))))
    except (StopIteration, ValueError) as error:
        raise UsageError(f"{path}: это не текстовый TextGrid, или он обрывается") from error
    for wanted in _TEXTGRID_TIERS:
        for name, words in tiers.items():
            if name.lower() == wanted:
                return words
    if len(tiers) == 1:
        return next(iter(tiers.values()))
    there = ", ".join(f"«{name}»" for name in tiers) or "ни одного"
    raise UsageError(f"{path}: нет слоя «words» с интервалами; есть {there}")


def _textgrid_values(text: str) -> Iterator[str]:
    for found in _TEXTGRID_VALUE.finditer(text):
        if found["text"] is not None:
            yield found["text"].replace('""', '"')
        elif found["number"] is not None:
            yield found["number"]


def _textgrid_tiers(values: Iterator[str]) -> dict[str, list[WordTime]]:
    """The interval tiers by name.

    Raises:
        StopIteration, ValueError: If the values are not those of a TextGrid.
    """
    if (next(values), next(values)) != ("ooTextFile", "TextGrid"):
        raise ValueError("not a TextGrid file")
    _, _, n_tiers = float(next(values)), float(next(values)), int(next(values))
    tiers: dict[str, list[WordTime]] = {}
    for _ in range(n_tiers):
        kind, name = next(values), next(values)
        _, _, size = float(next(values)), float(next(values)), int(next(values))
        if kind != "IntervalTier":
            for _ in range(2 * size):  # each point has a time and a mark
                next(values)
            continue
        words = []
        for _ in range(size):
            start_s, end_s = float(next(values)), float(next(values))
            if word := next(values).strip():
                words.append(WordTime(word, start_s, end_s))
        tiers[name] = words
    return tiers


def _lines(path: Path) -> list[str]:
    try:
        data = read_regular(path)
    except OSError as error:
        raise UsageError(f"{path}: {describe_os_error(error)}") from error
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return data.decode(encoding).splitlines()
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: это не UTF-8 и не UTF-16") from error


def words_in_time(words: Iterable[WordTime]) -> Transcription:
    """A timed transcription of words read from a file.

    Raises:
        UsageError: If the times are impossible or out of order.
    """
    listed = list(words)
    return timed_transcription(
        [word.word for word in listed], [(word.start_s, word.end_s) for word in listed]
    )


def save_timings(path: Path, rows: Iterable[tuple[Sample, Transcription]]) -> None:
    """Write timed words as a JSON Lines manifest that can be used for later runs.

    Raises:
        ReportError: If it cannot be written.
    """
    write_report(path, (_timed_row(path, sample, timed) for sample, timed in rows))


def _timed_row(path: Path, sample: Sample, timed: Transcription) -> str:
    audio = os.path.relpath(sample.path.resolve(), path.resolve().parent)
    row: dict[str, Any] = {"audio": audio, "text": sample.text}
    if sample.channel is not None:
        row["channel"] = sample.channel
    extra = {name: value for name, value in sample.extra.items() if name not in row}
    row = {**row, **extra, "words": words_to_json(timed)}
    return json.dumps(row, ensure_ascii=False) + "\n"
