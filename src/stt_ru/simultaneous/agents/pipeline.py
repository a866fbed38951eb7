"""Agents one after another: what one writes the next reads."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Self

from stt_ru.simultaneous.agents.agent import GenericAgent
from stt_ru.simultaneous.core.segments import EmptySegment

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from stt_ru.simultaneous.agents.states import AgentStates
    from stt_ru.simultaneous.core.segments import DataType, Segment


class AgentPipeline(GenericAgent):
    """An agent made of agents.

    Args:
        modules: The agents in order; None for those of the class attribute ``pipeline``.
        args: Options for the agents of ``pipeline``.

    Attributes:
        pipeline: Classes of the agents, for a pipeline that is loaded from a file.
    """

    pipeline: ClassVar[Sequence[type[GenericAgent]]] = ()

    def __init__(
        self, modules: Sequence[GenericAgent] | None = None, args: Namespace | None = None
    ) -> None:
        if modules is None:
            modules = [kind.from_args(args) for kind in self.pipeline]
        if not modules:
            raise ValueError(f"{type(self).__name__}: a pipeline needs at least one agent")
        self.modules = list(modules)
        for before, after in pairwise(self.modules):
            if before.target_type != after.source_type:
                raise ValueError(
                    f"{type(before).__name__} пишет {before.target_type}, а "
                    f"{type(after).__name__} читает {after.source_type}"
                )
        super().__init__(args)

    @property
    def source_type(self) -> DataType | None:  # type: ignore[override]  # the first agent's
        """What the first agent reads."""
        return self.modules[0].source_type

    @property
    def target_type(self) -> DataType | None:  # type: ignore[override]  # the last agent's
        """What the last agent writes."""
        return self.modules[-1].target_type

    def reset(self) -> None:
        """Get every agent ready for the next instance."""
        super().reset()
        for module in self.modules:
            module.reset()

    def push(self, source_segment: Segment, states: AgentStates | None = None) -> None:
        """Take a piece of source through all agents but the last, which only reads it."""
        _refuse_states(states)
        segment = source_segment
        for module in self.modules[:-1]:
            segment = module.pushpop(segment)
        # An agent that waits has written nothing: the next one is told so, and that more may come.
        self.modules[-1].push(segment)

    def pop(self, states: AgentStates | None = None) -> Segment:
        """Ask the last agent once."""
        _refuse_states(states)
        segment = self.modules[-1].pop()
        if segment.finished and segment.is_empty:
            return EmptySegment(finished=True)
        return segment

    @classmethod
    def add_args(cls, parser: ArgumentParser) -> None:  # all of its agents
        """Add the options of all its agents."""
        for kind in dict.fromkeys(cls.pipeline):
            kind.add_args(parser)

    @classmethod
    def from_args(cls, args: Namespace | None = None) -> Self:
        """The pipeline of the class attribute ``pipeline``."""
        return cls(args=args)


def _refuse_states(states: AgentStates | None) -> None:
    if states is not None:
        raise ValueError("a pipeline keeps the states of its agents itself")
