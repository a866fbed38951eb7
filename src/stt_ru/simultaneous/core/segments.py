"""Pieces of source and of output as they travel between an instance and its agent."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

DataType: TypeAlias = Literal["text", "speech"]
"""What a source or an output is made of."""

END_OF_SENTENCE: Final = "</s>"
"""The word that ends a text, in the REST protocol and in agents that write it."""


@dataclass
class Segment:
    """One piece. Agents of other tools set its fields, so it is not frozen.

    Attributes:
        index: Position in its stream, from 0; agents may leave it.
        content: The words or the samples.
        finished: Whether the stream ends with this piece.
        is_empty: Whether there is no content.
        config: Anything agents of a pipeline tell each other.
    """

    index: int = 0
    content: Any = None
    finished: bool = False
    is_empty: bool = False
    config: dict[str, Any] = field(default_factory=dict)


@dataclass
class TextSegment(Segment):
    """Words with spaces between."""

    content: str = ""


@dataclass
class SpeechSegment(Segment):
    """Samples, numbers in [-1, 1].

    Attributes:
        sample_rate: Their rate in Hz; -1 when unknown.
    """

    content: Any = field(default_factory=list)
    sample_rate: int = -1


@dataclass
class EmptySegment(Segment):
    """Nothing: the agent waits, or the source has ended."""

    is_empty: bool = True
