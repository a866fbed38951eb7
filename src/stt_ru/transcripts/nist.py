"""Texts with times: sclite's STM (segments) and CTM (words), and how words find their segments."""

from __future__ import annotations

import bisect
import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from stt_ru.errors import UsageError
from stt_ru.files.wording import listed, quoted
from stt_ru.text.marked_references import ANYTHING
from stt_ru.transcripts.lines import as_variants, content_lines, lines_of
from stt_ru.transcripts.texts import StoredText, TextFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

IGNORED: Final = "IGNORE_TIME_SEGMENT_IN_SCORING"
"""An STM segment's text that takes its time out of the scoring."""

_FIELDS: Final = {
    "CTM": "запись канал начало длительность слово",
    "STM": "запись канал диктор начало конец текст",
}
_FEWEST: Final = 5  # of a line, in both: the text of an STM line may be empty


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One line of an STM file; seconds from the start of the recording."""

    line: int
    recording: str
    channel: str
    speaker: str
    start_s: float
    end_s: float
    label: str
    text: str

    @property
    def is_ignored(self) -> bool:
        """Whether its time is out of the scoring."""
        return self.text.strip().upper() == IGNORED

    @property
    def name(self) -> str:
        """An id that tells it from the other segments of its recording."""
        return f"{self.recording} {self.channel} {self.start_s:.2f}-{self.end_s:.2f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedWord:
    """One line of a CTM file; seconds from the start of the recording."""

    line: int
    recording: str
    channel: str
    start_s: float
    duration_s: float
    word: str


def read_stm(text: str, path: str, *, variants: bool = False) -> list[Segment]:
    """Segments of an STM file in its order; alternatives are read with ``variants``.

    Raises:
        UsageError: If a line has too few fields, or invalid times.
    """
    found = []
    for number, fields in _fields(lines_of(text), path, "STM", maxsplit=5):
        recording, channel, speaker, start, end, *rest = fields
        words = "".join(rest)
        label = ""
        if words.startswith("<") and ">" in words and not words.startswith(ANYTHING):
            label, _, words = words[1:].partition(">")
        words = as_variants(words, path, number, variants=variants)
        segment = Segment(
            line=number,
            recording=recording,
            channel=channel,
            speaker=speaker,
            start_s=_seconds(start, path, number),
            end_s=_seconds(end, path, number),
            label=label,
            text=words.strip(),
        )
        if segment.end_s < segment.start_s:
            raise UsageError(f"{path}:{number}: конец {end} раньше начала {start}")
        found.append(segment)
    return found


def read_ctm(text: str, path: str) -> list[TimedWord]:
    """Words of a CTM file in its order; see `ctm_words`."""
    return list(ctm_words(lines_of(text), path))


def ctm_words(
    lines: Iterable[tuple[int, str]], path: str, *, alternatives: bool = False
) -> Iterator[TimedWord]:
    """Words of numbered lines of a CTM file in their order; confidence and type are not read.

    Args:
        lines: As the file has them.
        path: Its name, for messages.
        alternatives: Take marks of alternatives, ``<ALT…>``, for words when they have times.

    Raises:
        UsageError: If a line has too few fields, invalid times, or marks alternatives.
    """
    for number, fields in _fields(lines, path, "CTM"):
        recording, channel, start, duration, word = fields[:5]
        if word.startswith("<ALT") and not alternatives:
            raise UsageError(f"{path}:{number}: варианты <ALT…> здесь не читаются: оставьте один")
        yield TimedWord(
            line=number,
            recording=recording,
            channel=channel,
            start_s=_seconds(start, path, number),
            duration_s=_seconds(duration, path, number),
            word=word,
        )


def _fields(
    lines: Iterable[tuple[int, str]], path: str, kind: str, *, maxsplit: int = -1
) -> Iterator[tuple[int, list[str]]]:
    for number, line in content_lines(lines):
        fields = line.split(maxsplit=maxsplit)
        if len(fields) < _FEWEST:
            needed = _FIELDS[kind]
            raise UsageError(f"{path}:{number}: {quoted(line)}: в строке {kind} нужны {needed}")
        yield number, fields


def _seconds(text: str, path: str, line: int) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise UsageError(f"{path}:{line}: {quoted(text)}: здесь нужно время в секундах от 0")
    return seconds


def segments_as_texts(segments: Iterable[Segment]) -> list[StoredText]:
    """One text per scored segment, under its own name."""
    return [
        StoredText(
            line=segment.line,
            text=segment.text,
            name=segment.name,
            duration_s=segment.end_s - segment.start_s,
            extra={
                "recording": segment.recording,
                "channel": segment.channel,
                "speaker": segment.speaker,
                "start": segment.start_s,
                **({"label": segment.label} if segment.label else {}),
            },
        )
        for segment in segments
        if not segment.is_ignored
    ]


def recordings_as_texts(items: Sequence[Segment] | Sequence[TimedWord], path: str) -> TextFile:
    """One text per recording: its segments or words in order of time, under its name.

    Raises:
        UsageError: If a recording has several channels: their words would be mixed.
    """
    parts: dict[str, list[Segment | TimedWord]] = defaultdict(list)
    for item in items:
        if isinstance(item, Segment) and item.is_ignored:
            raise UsageError(
                f"{path}:{item.line}: {IGNORED} понятен только рядом с CTM или STM второй стороны"
            )
        parts[item.recording].append(item)
    texts = []
    for recording, group in parts.items():
        channels = sorted({item.channel for item in group})
        if len(channels) > 1:
            raise UsageError(
                f"{path}: у записи {quoted(recording)} каналы {listed(channels)}: "
                "без STM эталонов их слова не разделить"
            )
        group.sort(key=lambda item: item.start_s)
        words = (item.text if isinstance(item, Segment) else item.word for item in group)
        texts.append(StoredText(line=group[0].line, name=recording, text=" ".join(words)))
    return TextFile(path=path, side="hypothesis", texts=texts)


def words_by_segment(
    words: Sequence[TimedWord], segments: Sequence[Segment], path: str
) -> TextFile:
    """The words of a CTM file, given to the segments of an STM file.

    A word belongs to the segment of its recording and channel in which its middle lies, the later
    one where segments overlap; between segments to the nearest one, which is reported. Words in
    ignored time are left out, also reported. A segment of a recording that has no word at all gets
    None for a text: its recording is missing; one that is merely silent gets an empty text.
    """
    places: dict[tuple[str, str], list[Segment]] = defaultdict(list)
    for segment in segments:
        places[segment.recording, segment.channel].append(segment)
    for group in places.values():
        group.sort(key=lambda segment: segment.start_s)
    heard: dict[str, list[str]] = defaultdict(list)
    strangers: dict[str, int] = defaultdict(int)
    n_between = n_ignored = 0
    for word in sorted(words, key=lambda word: word.start_s):
        group = places.get((word.recording, word.channel), [])
        if not group:
            strangers[f"{word.recording} {word.channel}"] += 1
            continue
        middle_s = word.start_s + word.duration_s / 2
        place, is_inside = _place(group, middle_s)
        n_between += not is_inside
        if place.is_ignored:
            n_ignored += 1
            continue
        heard[place.name].append(word.word)
    recordings = {word.recording for word in words}
    notices = []
    if n_between:
        notices.append(
            f"{path}: слова вне отрезков эталона отнесены к ближайшим отрезкам ({n_between})"
        )
    if n_ignored:
        notices.append(f"{path}: слова в отрезках {IGNORED} не сравниваются ({n_ignored})")
    if strangers:
        notices.append(
            f"{path}: не сравниваются слова записей и каналов без эталона "
            f"({sum(strangers.values())}): {listed(list(strangers))}"
        )
    texts = [
        StoredText(
            line=segment.line,
            name=segment.name,
            text=" ".join(heard[segment.name]) if segment.recording in recordings else None,
        )
        for segment in segments
        if not segment.is_ignored
    ]
    return TextFile(path=path, side="hypothesis", texts=texts, notices=notices)


def _place(group: Sequence[Segment], middle_s: float) -> tuple[Segment, bool]:
    """The segment in which a moment lies, or the nearest; and whether it lies inside."""
    later = bisect.bisect_right(group, middle_s, key=lambda segment: segment.start_s)
    for segment in reversed(group[:later]):
        if middle_s < segment.end_s:
            return segment, True
    nearest = min(
        group, key=lambda segment: max(segment.start_s - middle_s, middle_s - segment.end_s)
    )
    return nearest, False
