"""What an agent has read and written so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stt_ru.simultaneous.core.segments import SpeechSegment, TextSegment

if TYPE_CHECKING:
    from stt_ru.simultaneous.core.segments import Segment


class AgentStates:
    """The agent's memory of one instance.

    Attributes:
        source: Words, or samples, read so far.
        target: Pieces of text written so far, one a `WriteAction`; of speech, samples.
        source_finished: Whether the whole source has been read.
        target_finished: Whether the agent has said that it is done.
        source_sample_rate: Rate of ``source`` in Hz; 0 before the first samples.
        target_sample_rate: Rate of ``target`` in Hz; 0 before the first samples.
        config: What agents of a pipeline told this one.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget everything, for the next instance."""
        self.source: list[Any] = []
        self.target: list[Any] = []
        self.source_finished = False
        self.target_finished = False
        self.source_sample_rate = 0
        self.target_sample_rate = 0
        self.config: dict[str, Any] = {}

    def update_source(self, segment: Segment) -> None:
        """Take a piece of source in."""
        self.config.update(segment.config)
        self.source_finished = segment.finished
        if segment.is_empty:
            return
        if isinstance(segment, TextSegment):
            self.source += segment.content.split()
        elif isinstance(segment, SpeechSegment):
            self.source += segment.content
            self.source_sample_rate = segment.sample_rate
        else:
            raise TypeError(f"a source segment is text or speech, not {type(segment).__name__}")

    def update_target(self, segment: Segment) -> None:
        """Take a piece of output down."""
        self.target_finished = segment.finished
        if segment.is_empty:
            return
        if isinstance(segment, TextSegment):
            self.target.append(segment.content)
        elif isinstance(segment, SpeechSegment):
            self.target += segment.content
            self.target_sample_rate = segment.sample_rate
        else:
            raise TypeError(f"an output segment is text or speech, not {type(segment).__name__}")
