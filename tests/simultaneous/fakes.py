"""Agents whose schedule is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stt_ru.simultaneous import ReadAction, SpeechToTextAgent, TextToTextAgent, WriteAction

if TYPE_CHECKING:
    from stt_ru.simultaneous import Action, AgentStates


class WaitK(TextToTextAgent):
    """Writes the source in capitals, k words behind it."""

    k = 3

    def policy(self, states: AgentStates | None = None) -> Action:
        states = states or self.states
        lagging = len(states.source) - len(states.target)
        if lagging >= self.k or states.source_finished:
            word = states.source[len(states.target)].upper()
            return WriteAction(word, finished=states.source_finished and lagging <= 1)
        return ReadAction()


class WordEvery(SpeechToTextAgent):
    """Writes a word whenever another ``every_ms`` of speech has come."""

    every_ms = 100

    def policy(self, states: AgentStates | None = None) -> Action:
        states = states or self.states
        read_ms = len(states.source) * 1000 / states.source_sample_rate if states.source else 0
        if read_ms >= (len(states.target) + 1) * self.every_ms or states.source_finished:
            return WriteAction(f"слово{len(states.target)}", finished=states.source_finished)
        return ReadAction()
