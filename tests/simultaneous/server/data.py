"""Data and sessions for the tests of the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stt_ru.errors import AudioError
from stt_ru.simultaneous.core.dataset import SpeechDataset, SpeechItem, TextDataset
from stt_ru.simultaneous.core.instance import SpeechSource
from stt_ru.simultaneous.scorers import ALScorer, APScorer, DALScorer, WERScorer
from stt_ru.simultaneous.server.corpus import SAMPLE_RATE, Corpus
from stt_ru.simultaneous.server.session import Journal, Session, SessionSettings
from tests.fakes import FakeClock

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

TEXTS = TextDataset(["it is cold", "go", ""], ["холодно", "иди", ""])
SETTINGS = SessionSettings(
    quality_scorers={"WER": WERScorer()},
    latency_scorers={"AL": ALScorer(), "AP": APScorer(), "DAL": DALScorer()},
)


class Tones(SpeechDataset):
    """Recordings that are not on disk: instance i counts up from 1000·i."""

    def __init__(self, lengths: Sequence[int]) -> None:
        from pathlib import Path

        super().__init__([SpeechItem(f"{i}.wav", Path(), "раз два") for i in range(len(lengths))])
        self.lengths = lengths
        self.decoded: list[int] = []

    def load(self, index: int) -> SpeechSource:
        if self.lengths[index] < 0:
            raise AudioError("файл испорчен")
        self.decoded.append(index)
        return SpeechSource(self.items[index].name, self.samples(index), SAMPLE_RATE)

    def samples(self, index: int) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
        counted = np.arange(self.lengths[index], dtype=np.float32) + 1000 * index
        return (counted % 32768) / np.float32(32768)


def session(
    data: TextDataset | SpeechDataset = TEXTS,
    *,
    clock: FakeClock | None = None,
    journal: Journal | None = None,
) -> Session:
    return Session("s", Corpus(data), SETTINGS, clock=clock or FakeClock(), journal=journal)


def speech(*lengths: int) -> Tones:
    return Tones(lengths or (16_000,))


def files_of(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}
