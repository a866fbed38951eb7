"""What an evaluation found, as data: one result per manifest row, one report per model."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from stt_ru.errors import UsageError
from stt_ru.scoring.counts import Score, total_score
from stt_ru.text.marked_references import has_anything
from stt_ru.text.normalize import has_digits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stt_ru.provenance import Signature


@dataclass(frozen=True, slots=True)
class Segment:
    """One stretch of recognised speech.

    Attributes:
        start: Seconds from the start of the recording.
        end: Seconds from the start of the recording.
        text: As the model wrote it.
        channel: The lowest channel of the track it comes from, from 0.
        word_starts: Where each whitespace-separated word begins, seconds from the start of the
            recording; empty if the model gives no times.
    """

    start: float
    end: float
    text: str
    channel: int = 0
    word_starts: Sequence[float] = ()

    def __post_init__(self) -> None:
        text: object = self.text
        if not isinstance(text, str):
            raise UsageError(f"Segment.text: нужна строка, а не {text!r}")
        object.__setattr__(self, "start", checked_seconds("start", self.start))
        object.__setattr__(self, "end", checked_seconds("end", self.end))
        starts = tuple(checked_seconds("word_starts", start) for start in self.word_starts)
        if starts and len(starts) != len(text.split()):
            raise UsageError(
                f"Segment.word_starts: времён {len(starts)}, а слов {len(text.split())}: {text!r}"
            )
        object.__setattr__(self, "word_starts", starts)


def checked_seconds(name: str, value: object) -> float:
    """The value as seconds; accepts NumPy numbers, refuses anything but a length of time.

    Raises:
        UsageError: If it is refused; the message names the value.
    """
    try:
        seconds = float(value)  # type: ignore[arg-type]  # non-numbers are refused below
    except (TypeError, ValueError, OverflowError):
        seconds = math.nan
    if isinstance(value, str | bool) or not 0 <= seconds < math.inf:
        raise UsageError(f"{name}: нужны секунды, число от 0, а не {value!r}")
    return seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class FileResult:
    """One manifest row as one model recognised it.

    Attributes:
        audio: The recording as the manifest names it.
        channel: Channel of the row, from 0; None for the whole recording.
        reference: The reference as the manifest has it.
        chosen: The branch of a reference with variants that the hypothesis was compared with, as
            written; None if the reference has no variants or they were not read.
        hypothesis: The recognised text as the model wrote it; None if the row failed.
        score: Word and character errors after normalisation; None if the row failed.
        duration: Seconds of audio decoded; None if unknown.
        seconds: Wall seconds spent decoding and recognising the recording, shared by its rows;
            None if it failed.
        error: Why the row failed, a sentence in Russian; None if it did not.
        from_cache: Whether its text was recognised in an earlier run.
        segments: Where in the recording the text is; empty if unknown.
        extra: The manifest's other columns.
        compared: The reference (or its branch) and the hypothesis after `stt_ru.normalize`, as
            scored; None if that was done elsewhere, e.g. for a report read back.
    """

    audio: str
    channel: int | None = None
    reference: str
    chosen: str | None = None
    hypothesis: str | None = None
    score: Score | None = None
    duration: float | None = None
    seconds: float | None = None
    error: str | None = None
    from_cache: bool = False
    segments: Sequence[Segment] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
    compared: tuple[str, str] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "segments", tuple(self.segments))
        if (self.error is None) != (self.score is not None and self.hypothesis is not None):
            raise ValueError(
                f"a result has either an error or a hypothesis with its score: {self.audio!r}"
            )

    @property
    def wer(self) -> float | None:
        """Word error rate, a fraction; None if the row failed or its reference has no words."""
        return self.score.words.rate if self.score else None

    @property
    def cer(self) -> float | None:
        """Character error rate, a fraction; None if the row failed or its reference is empty."""
        return self.score.chars.rate if self.score else None

    @property
    def compared_text(self) -> str:
        """The text that the hypothesis was compared with: the reference, or its branch."""
        return self.reference if self.chosen is None else self.chosen

    @property
    def digits_mismatch(self) -> bool:
        """Whether digits occur only in the reference or only in the hypothesis."""
        if self.hypothesis is None or self.score is None:
            return False
        if self.chosen is not None and (not self.score.words.errors or has_anything(self.chosen)):
            return False  # «<*>» may stand for digits
        return has_digits(self.compared_text) != has_digits(self.hypothesis)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReport:
    """One model on the whole manifest.

    Attributes:
        model: The name the user asked for.
        label: The name in the table, e.g. with the folder of the weights or «демонстрационная».
        rows: Manifest rows requested, recognised or not.
        results: One result per row in manifest order; empty if the model did not load.
        audio_s: Seconds of audio in the recognised recordings, each counted once.
        wall_s: Wall seconds of the model's loop, including reading and failures but not loading.
        error: Why the model did not load; None if it did.
        warnings: Sentences in Russian about the model and its recordings.
        signature: How the figures were made; None if the model did not load.
    """

    model: str
    label: str
    rows: int
    results: Sequence[FileResult] = field(default=(), repr=False)  # pages of texts
    audio_s: float = 0.0
    wall_s: float = 0.0
    error: str | None = None
    warnings: Sequence[str] = ()
    signature: Signature | None = None

    def __post_init__(self) -> None:
        # A list would make a report unequal to the same one read back, and could be modified later.
        object.__setattr__(self, "results", tuple(self.results))
        object.__setattr__(self, "warnings", tuple(self.warnings))

    @property
    def score(self) -> Score:
        """Errors of all recognised rows together."""
        return total_score(result.score for result in self.results if result.score is not None)

    @property
    def wer(self) -> float | None:
        """Word errors over reference words of the recognised rows; None without words."""
        return self.score.words.rate

    @property
    def cer(self) -> float | None:
        """Character errors over characters of the recognised rows; None without characters."""
        return self.score.chars.rate

    @property
    def speed(self) -> float | None:
        """Seconds of audio per wall second; None if durations are unknown or nothing was done."""
        return self.audio_s / self.wall_s if self.audio_s and self.wall_s else None

    @property
    def files(self) -> int:
        """Number of manifest rows."""
        return self.rows

    @property
    def has_branches(self) -> bool:
        """Whether any row was compared with a branch of its reference."""
        return any(result.chosen is not None for result in self.results)

    @property
    def failed(self) -> int:
        """Number of rows that were not recognised; all of them if the model did not load."""
        if self.error is not None:
            return self.rows
        return sum(result.error is not None for result in self.results)

    @property
    def digits_mismatch(self) -> int:
        """Number of rows with digits only in the reference or only in the hypothesis."""
        return sum(result.digits_mismatch for result in self.results)
