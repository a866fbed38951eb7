"""An instance as data: one source–reference pair with what an agent wrote and when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from stt_ru.simultaneous.core.segments import DataType

LatencyUnit: TypeAlias = Literal["word", "char"]
"""What has a delay: each word written, or each character but spaces."""

FAILED: Final = "ошибка примера"
"""Why no measure counts an instance whose agent failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceRecord:
    """All that scoring needs of an instance; `instance_log` writes and reads it.

    Attributes:
        index: Position in the data, from 0.
        source_type: What was read.
        target_type: What was written.
        source: The text, or the path of the recording.
        source_length: Words of the source, or its milliseconds.
        reference: The reference text; None if there is none.
        prediction: The text written; of speech, empty.
        delays: For each unit written, how much of the source had been read: words, or ms of audio.
            A unit is a word, a character (`latency_unit`), or of speech a chunk.
        elapsed: The same, ms: audio read plus wall time since the first read; of a text source the
            wall time alone. Empty when it was not measured.
        latency_unit: What has a delay.
        durations: Of speech written, ms of each chunk; None for text.
        audio: Of speech written, the WAV file; None for text.
        is_finished: Whether the agent said that it was done.
        error: Why the instance failed, a sentence in Russian; None when it did not.
    """

    index: int
    source_type: DataType = "text"
    target_type: DataType = "text"
    source: str = ""
    source_length: float = 0.0
    reference: str | None = None
    prediction: str = ""
    delays: tuple[float, ...] = ()
    elapsed: tuple[float, ...] = ()
    latency_unit: LatencyUnit = "word"
    durations: tuple[float, ...] | None = None
    audio: str | None = None
    is_finished: bool = True
    error: str | None = None

    @property
    def reference_length(self) -> int:
        """Units of the reference; 0 without one."""
        return len(split_units(self.reference or "", self.latency_unit))

    @property
    def prediction_length(self) -> int:
        """Units written."""
        return len(self.delays)


def split_units(text: str, unit: LatencyUnit) -> list[str]:
    """The words of a text, or its characters without spaces.

    Example:
        >>> split_units("да  нет", "word"), len(split_units("да  нет", "char"))
        (['да', 'нет'], 5)
    """
    words = text.split()
    return words if unit == "word" else list("".join(words))
