"""Timed words: the reference of every streaming evaluation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stt_ru.errors import UsageError
from stt_ru.text.normalize import normalize

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(slots=True)
class Token:
    """A word.

    Attributes:
        value: The word as it is compared.
        start_time: Audio time of its start, seconds; nan if unknown.
        end_time: Audio time of its end, seconds; nan if unknown.
        is_interpolated: Whether the times are estimated from those of the neighbours.
    """

    value: str
    start_time: float = math.nan
    end_time: float = math.nan
    is_interpolated: bool = False

    @property
    def is_timed(self) -> bool:
        """Whether both times are known."""
        return not (math.isnan(self.start_time) or math.isnan(self.end_time))


@dataclass(frozen=True, slots=True)
class Transcription:
    """A text as a sequence of words.

    Attributes:
        tokens: The words.
    """

    tokens: Sequence[Token]

    @classmethod
    def from_text(cls, text: str) -> Transcription:
        """The words of a text normalised by `stt_ru.text.normalize.normalize`, without times."""
        return cls([Token(word) for word in normalize(text).split()])

    @property
    def words(self) -> list[str]:
        """The words without their times."""
        return [token.value for token in self.tokens]

    @property
    def text(self) -> str:
        """The words joined by single spaces."""
        return " ".join(self.words)

    def check_timed(self) -> None:
        """Check that every word has valid times, and that the ends are in order.

        Raises:
            UsageError: If not; the message names the first such word.
        """
        before = 0.0
        for number, token in enumerate(self.tokens):
            place = f"слово {number + 1}, «{token.value}»"
            if not token.is_timed:
                raise UsageError(f"{place}: нет времени начала и конца")
            if not 0 <= token.start_time <= token.end_time < math.inf:
                raise UsageError(
                    f"{place}: время от {token.start_time:g} до {token.end_time:g} с невозможно"
                )
            if token.end_time < before:
                raise UsageError(
                    f"{place}: кончается в {token.end_time:g} с, раньше предыдущего ({before:g} с)"
                )
            before = token.end_time


def timed_transcription(
    words: Sequence[str], times: Sequence[tuple[float, float]]
) -> Transcription:
    """A transcription from words and their times.

    If normalisation splits a word («кто-то»), its time is divided in proportion to the letters; a
    word that normalises to nothing («–») is left out.

    Args:
        words: The words as written.
        times: Start and end of each word, seconds of audio time, in order.

    Raises:
        UsageError: If the numbers of words and times differ, or times are impossible or out of
            order.

    Example:
        >>> timed_transcription(["Кто-то", "пришёл!"], [(0.1, 0.6), (0.7, 1.2)]).text
        'кто то пришел'
    """
    if len(words) != len(times):
        raise UsageError(f"слов {len(words)}, а времён {len(times)}")
    tokens: list[Token] = []
    for word, (start_s, end_s) in zip(words, times, strict=True):
        parts = normalize(word).split()
        letters = sum(map(len, parts))
        position = 0
        for part in parts:
            part_start = start_s + (end_s - start_s) * position / letters
            position += len(part)
            is_last = position == letters
            part_end = end_s if is_last else start_s + (end_s - start_s) * position / letters
            tokens.append(Token(part, part_start, part_end))
    transcription = Transcription(tokens)
    transcription.check_timed()
    return transcription


def words_to_json(transcription: Transcription) -> list[dict[str, Any]]:
    """Timed words as the ``words`` field of a manifest; times in seconds."""
    return [
        {
            "word": token.value,
            "start": round(token.start_time, 4),
            "end": round(token.end_time, 4),
            **({"interpolated": True} if token.is_interpolated else {}),
        }
        for token in transcription.tokens
    ]


def words_from_json(words: Sequence[Mapping[str, Any]]) -> Transcription:
    """The inverse of `words_to_json`.

    Raises:
        KeyError, TypeError, ValueError: If the list is malformed.
    """
    return Transcription(
        [
            Token(
                word["word"],
                float(word["start"]),
                float(word["end"]),
                bool(word.get("interpolated", False)),
            )
            for word in words
        ]
    )
