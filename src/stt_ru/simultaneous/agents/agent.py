"""Agents: a policy between what was read and what is written.

The interface is that of SimulEval 1.1, so that an agent written for it runs after a change of its
import lines. `docs/simul.md` shows two.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, ClassVar, Self

from stt_ru.simultaneous.agents.states import AgentStates
from stt_ru.simultaneous.core.segments import EmptySegment, Segment, SpeechSegment, TextSegment

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from stt_ru.simultaneous.agents.actions import Action
    from stt_ru.simultaneous.core.segments import DataType


class GenericAgent:
    """An agent of any kind; subclasses say what they read and write, and override `policy`.

    Args:
        args: Options of the command line, those of `add_args` included; None without any.

    Attributes:
        source_type: What it reads.
        target_type: What it writes.
        states: What it has read and written of the present instance.
        args: As given.
    """

    source_type: ClassVar[DataType | None] = None
    target_type: ClassVar[DataType | None] = None

    def __init__(self, args: Namespace | None = None) -> None:
        self.args = args
        self.device = "cpu"
        self.states = self.build_states()
        self.reset()

    def build_states(self) -> AgentStates:
        """The agent's empty memory."""
        return AgentStates()

    def reset(self) -> None:
        """Get ready for the next instance."""
        self.states.reset()

    def policy(self, states: AgentStates | None = None) -> Action:
        """Decide what to do next.

        Args:
            states: Of an agent that keeps none itself; None for ``self.states``.
        """
        raise NotImplementedError(f"{type(self).__name__} has no policy")

    def push(self, source_segment: Segment, states: AgentStates | None = None) -> None:
        """Take a piece of source in."""
        (self.states if states is None else states).update_source(source_segment)

    def pop(self, states: AgentStates | None = None) -> Segment:
        """Ask the policy once; an empty piece when it reads on."""
        memory = self.states if states is None else states
        if memory.target_finished:
            return EmptySegment(finished=True)
        action = _decision(self, states)
        if action.is_read():
            return EmptySegment()
        segment = _segment_of(self, action, memory)
        memory.update_target(segment)
        return segment

    def pushpop(self, segment: Segment, states: AgentStates | None = None) -> Segment:
        """Take a piece of source in and ask the policy once."""
        self.push(segment, states)
        return self.pop(states)

    @staticmethod
    def add_args(parser: ArgumentParser) -> None:
        """Add the agent's own options to the command line."""

    @classmethod
    def from_args(cls, args: Namespace | None = None) -> Self:
        """The agent as the command line asks for it."""
        return cls(args)

    def to(self, device: str, *args: Any, **kwargs: Any) -> None:
        """Move the model to a device; agents without one need not override it."""
        self.device = device


# Functions, not methods: a user's agent may use any names.


def _decision(agent: GenericAgent, states: AgentStates | None) -> Action:
    if states is None and not _needs_states(type(agent)):
        action = agent.policy()
    else:
        action = agent.policy(agent.states if states is None else states)
    if not hasattr(action, "is_read"):
        raise TypeError(
            f"{type(agent).__name__}.policy() вернул {action!r}, а нужен ReadAction() или "
            "WriteAction(content, finished)"
        )
    return action


def _segment_of(agent: GenericAgent, action: Any, memory: AgentStates) -> Segment:
    content = action.content
    if isinstance(content, Segment):
        content.finished = bool(action.finished)
        return content
    if agent.target_type == "speech":
        if content is None or len(content) == 0:
            return EmptySegment(finished=bool(action.finished))
        rate = memory.target_sample_rate or memory.source_sample_rate
        return SpeechSegment(content=content, sample_rate=rate, finished=bool(action.finished))
    if not isinstance(content, str):
        raise TypeError(
            f"{type(agent).__name__}: WriteAction({content!r}): нужна строка со словами"
        )
    return TextSegment(content=content, finished=bool(action.finished))


def _needs_states(kind: type[GenericAgent]) -> bool:
    parameters = list(inspect.signature(kind.policy).parameters.values())[1:]  # without self
    return any(
        parameter.default is parameter.empty
        and parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        for parameter in parameters
    )


class TextToTextAgent(GenericAgent):
    """Reads words, writes words."""

    source_type = "text"
    target_type = "text"


class SpeechToTextAgent(GenericAgent):
    """Reads samples, writes words."""

    source_type = "speech"
    target_type = "text"


class SpeechToSpeechAgent(GenericAgent):
    """Reads samples, writes samples."""

    source_type = "speech"
    target_type = "speech"


class TextToSpeechAgent(GenericAgent):
    """Reads words, writes samples; a part of pipelines."""

    source_type = "text"
    target_type = "speech"
