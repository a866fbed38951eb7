"""A run saved to disk: everything needed to evaluate it without the audio and the model."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from stt_ru.errors import ReportError
from stt_ru.files.reading import describe_os_error, read_regular
from stt_ru.files.writing import write_report
from stt_ru.streaming.measures.evaluation import evaluate_streaming
from stt_ru.streaming.queue.chunks import InputChunk, OutputChunk, Signal, TranscriptionChunk
from stt_ru.streaming.schedule.sender import Cutoff
from stt_ru.streaming.timing.transcription import words_from_json, words_to_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from stt_ru.streaming.measures.evaluation import StreamingEvaluationResults
    from stt_ru.streaming.timing.transcription import Transcription

SCHEMA_VERSION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """One recording sent to one model, and the timestamped answers.

    Attributes:
        audio: The recording as named in the manifest.
        channel: The channel, from 0; None for the whole recording.
        model: The model's name.
        reference: The reference text as written in the manifest.
        cutoffs: The schedule.
        input_chunks: The chunks sent, ending with ``Signal.FINISH``; without audio if loaded.
        output_chunks: The model's answers, ending with ``Signal.FINISH``.
        timed_transcription: The timed reference words; None if the times are unknown.
        compute_s: Wall seconds the model worked on it; None if not measured.
        is_remapped: Whether the times were computed from a run without delays.
        settings: How the run was made, for the signature.
    """

    audio: str
    channel: int | None = None
    model: str
    reference: str
    cutoffs: Sequence[Cutoff]
    input_chunks: Sequence[InputChunk]
    output_chunks: Sequence[OutputChunk]
    timed_transcription: Transcription | None = None
    compute_s: float | None = None
    is_remapped: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The final text as the model wrote it."""
        return TranscriptionChunk.join(self.output_chunks)

    def evaluate(
        self,
        waveform: NDArray[np.floating] | None = None,
        partial_alignment_interval: float = 0.25,
    ) -> StreamingEvaluationResults:
        """Evaluate the run; see `stt_ru.streaming.measures.evaluation.evaluate_streaming`.

        Raises:
            ReportError: If the times of the reference words are unknown.
        """
        if self.timed_transcription is None:
            raise ReportError(f"{self.audio}: в истории нет времени слов эталона")
        return evaluate_streaming(
            self.timed_transcription,
            np.zeros(0, np.float32) if waveform is None else waveform,
            self.cutoffs,
            self.input_chunks,
            self.output_chunks,
            partial_alignment_interval,
        )


def save_history(history: History, path: Path) -> None:
    """Write a history as JSON; a crash leaves the old file or the new one.

    Raises:
        ReportError: If it cannot be written.
    """
    write_report(path, [json.dumps(history_to_json(history), ensure_ascii=False), "\n"])


def load_history(path: Path) -> History:
    """Read a history that `save_history` wrote.

    Raises:
        ReportError: If it cannot be read, or is not such a history.
    """
    try:
        data = json.loads(read_regular(path))
    except OSError as error:
        raise ReportError(f"история {path} не прочитана: {describe_os_error(error)}") from error
    except (ValueError, RecursionError) as error:
        raise ReportError(f"история {path}: это не JSON: {error}") from error
    version = data.get("schema_version") if isinstance(data, dict) else None
    if version != SCHEMA_VERSION:
        raise ReportError(
            f"история {path}: schema_version {version!r}, читается только {SCHEMA_VERSION}"
        )
    try:
        return history_from_json(data)
    except (KeyError, TypeError, ValueError) as error:
        raise ReportError(f"история {path} испорчена: {type(error).__name__}: {error}") from error


def history_to_json(history: History) -> dict[str, Any]:
    """The history as a JSON object; times are seconds of the queues' clock."""
    timed = history.timed_transcription
    return {
        "schema_version": SCHEMA_VERSION,
        "audio": history.audio,
        "channel": history.channel,
        "model": history.model,
        "reference": history.reference,
        "is_remapped": history.is_remapped,
        "compute_s": history.compute_s,
        "settings": dict(history.settings),
        "words": None if timed is None else words_to_json(timed),
        "cutoffs": [[c.t_real, c.t_audio, c.arr_pos] for c in history.cutoffs],
        "input": [
            {
                "end_time": chunk.end_time,
                "put": chunk.put_timestamp,
                "get": _number(chunk.get_timestamp),
                **({"finish": True} if chunk.data is Signal.FINISH else {}),
            }
            for chunk in history.input_chunks
        ],
        "output": [
            {
                **_output_data(chunk),
                "seconds_processed": chunk.seconds_processed,
                "put": chunk.put_timestamp,
                "get": _number(chunk.get_timestamp),
            }
            for chunk in history.output_chunks
        ],
    }


def history_from_json(data: Mapping[str, Any]) -> History:
    """The inverse of `history_to_json`; the audio is lost.

    Raises:
        KeyError, TypeError, ValueError: If it is not a history.
    """
    return History(
        audio=data["audio"],
        channel=data["channel"],
        model=data["model"],
        reference=data["reference"],
        is_remapped=data["is_remapped"],
        compute_s=data["compute_s"],
        settings=data["settings"],
        timed_transcription=None if data["words"] is None else words_from_json(data["words"]),
        cutoffs=[Cutoff(*values) for values in data["cutoffs"]],
        input_chunks=[
            InputChunk(
                data=Signal.FINISH if chunk.get("finish") else None,
                end_time=chunk["end_time"],
                put_timestamp=chunk["put"],
                get_timestamp=_time(chunk["get"]),
            )
            for chunk in data["input"]
        ],
        output_chunks=[
            OutputChunk(
                data=Signal.FINISH
                if chunk.get("finish")
                else TranscriptionChunk(uid=chunk["uid"], text=chunk["text"]),
                seconds_processed=chunk["seconds_processed"],
                put_timestamp=chunk["put"],
                get_timestamp=_time(chunk["get"]),
            )
            for chunk in data["output"]
        ],
    )


def _output_data(chunk: OutputChunk) -> dict[str, Any]:
    if isinstance(chunk.data, TranscriptionChunk):
        return {"uid": chunk.data.uid, "text": chunk.data.text}
    return {"finish": True}


def _number(time: float) -> float | None:
    return None if math.isnan(time) else time


def _time(number: float | None) -> float:
    return math.nan if number is None else number
