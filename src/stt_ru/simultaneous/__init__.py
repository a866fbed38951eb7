"""Simultaneous evaluation: quality against latency of agents that write while they still read."""

from stt_ru.simultaneous.agents import (
    Action,
    AgentPipeline,
    AgentStates,
    GenericAgent,
    ReadAction,
    SpeechToSpeechAgent,
    SpeechToTextAgent,
    TextToSpeechAgent,
    TextToTextAgent,
    WriteAction,
    entrypoint,
)
from stt_ru.simultaneous.core.segments import (
    EmptySegment,
    Segment,
    SpeechSegment,
    TextSegment,
)

__all__ = [
    "Action",
    "AgentPipeline",
    "AgentStates",
    "EmptySegment",
    "GenericAgent",
    "ReadAction",
    "Segment",
    "SpeechSegment",
    "SpeechToSpeechAgent",
    "SpeechToTextAgent",
    "TextSegment",
    "TextToSpeechAgent",
    "TextToTextAgent",
    "WriteAction",
    "entrypoint",
]
