"""What a server hands out: texts, and recordings as int16 at one rate, kept in memory."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from stt_ru.errors import AudioError, SttRuError
from stt_ru.simultaneous.core.instance import SpeechSource, TextSource

if TYPE_CHECKING:
    from stt_ru.simultaneous.core.dataset import Dataset
    from stt_ru.simultaneous.core.segments import DataType

SAMPLE_RATE: Final = 16_000  # Hz, of the protocol
SAMPLES_10_MS: Final = SAMPLE_RATE // 100  # 160; the protocol rounds segment_size to this step
CACHE_BYTES: Final = 512 * 1024 * 1024  # 4.6 hours of speech


class Corpus:
    """Sources of a dataset by their index, shared by all sessions; safe to use from threads.

    Args:
        dataset: Speech must be at `SAMPLE_RATE`.
        cache_bytes: Of recordings kept decoded; the one used longest ago goes first.
    """

    def __init__(self, dataset: Dataset, *, cache_bytes: int = CACHE_BYTES) -> None:
        self.dataset = dataset
        self._cache: OrderedDict[int, SpeechSource] = OrderedDict()
        self._texts: dict[int, TextSource | SpeechSource] = {}
        self._cached_bytes = 0
        self._cache_bytes = cache_bytes
        self._lock = threading.Lock()
        self._loading: dict[int, threading.Lock] = {}

    @property
    def data_type(self) -> DataType:
        """Text or speech."""
        return self.dataset.source_type

    def __len__(self) -> int:
        return len(self.dataset)

    def prepare(self) -> None:
        """Load the decoders, which takes a second or so, before the first client waits for it."""
        if self.data_type == "speech":
            import stt_ru.audio  # noqa: F401

    def is_ready(self, index: int) -> bool:
        """Whether `source` answers at once."""
        return self.data_type == "text" or index in self._cache

    def source(self, index: int) -> TextSource | SpeechSource:
        """One source; samples are int16.

        Raises:
            SttRuError: If the recording cannot be read.
        """
        if self.data_type == "text":
            if index not in self._texts:  # cut into words once, not once a word
                self._texts[index] = self.dataset.load(index)
            return self._texts[index]
        with self._lock:
            if index in self._cache:
                self._cache.move_to_end(index)
                return self._cache[index]
            loading = self._loading.setdefault(index, threading.Lock())
        with loading:  # many clients begin with one recording: it is decoded once
            with self._lock:
                if index in self._cache:
                    return self._cache[index]
            source = self._decode(index)
            with self._lock:
                self._keep(index, source)
                self._loading.pop(index, None)
            return source

    def _decode(self, index: int) -> SpeechSource:
        import numpy as np

        try:
            source = self.dataset.load(index)
        except AudioError as error:
            raise SttRuError(f"запись {self.dataset.name(index)} не читается: {error}") from error
        assert isinstance(source, SpeechSource)
        samples = np.clip(np.rint(source.samples * 32768), -32768, 32767).astype(np.int16)
        return SpeechSource(source.name, samples, source.sample_rate)

    def _keep(self, index: int, source: SpeechSource) -> None:
        self._cache[index] = source
        self._cached_bytes += source.samples.nbytes
        while self._cached_bytes > self._cache_bytes and len(self._cache) > 1:
            _, oldest = self._cache.popitem(last=False)
            self._cached_bytes -= oldest.samples.nbytes
