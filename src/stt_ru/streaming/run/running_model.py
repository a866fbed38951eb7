"""The model that recordings are sent to: started when needed, reloaded when stuck."""

from __future__ import annotations

import logging
import math
import threading
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from stt_ru.streaming.engines.model import StreamingASR
    from stt_ru.streaming.run.sources import LoadedStream, StreamSource

logger = logging.getLogger(__name__)

_STOPPING_S: Final = 5.0  # a model that has not stopped by then is abandoned


class RunningModel:
    """A loaded model and the life cycle of its thread; thread-safe.

    Args:
        source: Reloads the model.
        loaded: The model, not running.
        timeout_s: Seconds without any work after which the model is considered stuck.

    Attributes:
        loaded: The model currently in use.
    """

    def __init__(self, source: StreamSource, loaded: LoadedStream, timeout_s: float) -> None:
        self.loaded = loaded
        self._source = source
        self._timeout_s = timeout_s
        self._lock = threading.Lock()

    def started(self) -> StreamingASR:
        """The model, started if it is not running or has died."""
        with self._lock:
            asr = self.loaded.asr
            if not asr.is_thread_started():
                asr.start_thread()
            return asr

    def replace_if_stuck(self, asr: StreamingASR) -> None:
        """Reload the model if its thread neither processes any recording nor stops.

        Args:
            asr: The model found silent; nothing is done if it has already been replaced.
        """
        with self._lock:
            taken_at = asr.input_buffer.taken_at
            is_idle = math.isnan(taken_at) or asr.clock.now() - taken_at > self._timeout_s
            if asr is not self.loaded.asr or not is_idle:
                return
            try:
                asr.stop_thread(min(_STOPPING_S, self._timeout_s))
            except TimeoutError:
                logger.debug("%s is stuck and is abandoned", self._source.name)
                self.loaded = self._source.load()

    def stop(self) -> tuple[str, ...]:
        """Stop the model; returns a warning in Russian if it does not stop."""
        try:
            self.loaded.asr.stop_thread(_STOPPING_S)
        except TimeoutError as error:
            return (str(error),)
        return ()
