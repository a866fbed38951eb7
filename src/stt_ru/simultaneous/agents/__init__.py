"""Agents for simultaneous evaluation: the base classes, and how a file names an agent."""

from stt_ru.simultaneous.agents.actions import Action, ReadAction, WriteAction
from stt_ru.simultaneous.agents.agent import (
    GenericAgent,
    SpeechToSpeechAgent,
    SpeechToTextAgent,
    TextToSpeechAgent,
    TextToTextAgent,
)
from stt_ru.simultaneous.agents.loading import entrypoint
from stt_ru.simultaneous.agents.pipeline import AgentPipeline
from stt_ru.simultaneous.agents.states import AgentStates

__all__ = [
    "Action",
    "AgentPipeline",
    "AgentStates",
    "GenericAgent",
    "ReadAction",
    "SpeechToSpeechAgent",
    "SpeechToTextAgent",
    "TextToSpeechAgent",
    "TextToTextAgent",
    "WriteAction",
    "entrypoint",
]
