"""A recording's channels one by one, for a recogniser that knows nothing of channels."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import soundfile as sf

from stt_ru.audio import SAMPLE_RATE, open_audio
from stt_ru.audio.tracks import channel_map, equal_channels
from stt_ru.errors import TranscriptionError
from stt_ru.recognition.recognizer import Transcript

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stt_ru.recognition.recognizer import LoadedRecognizer

_BLOCK_S: Final = 60.0  # decoded at a time, however long the recording is


def transcribe_by_channel(loaded: LoadedRecognizer, path: Path) -> Transcript:
    """The transcript of each distinct channel, heard as a recording of its own.

    A recording with one track is given as it is. Otherwise the recogniser gets, once per track, a
    WAV file of 16-bit samples, mono, at `SAMPLE_RATE`, that it may read only during the call.

    Args:
        loaded: The recogniser; it is called once per track, one call after another.
        path: The recording.

    Raises:
        AudioError: If the recording cannot be read.
        TranscriptionError: If the recogniser answers with something else than a transcript.
    """
    with tempfile.TemporaryDirectory(prefix="stt-ru-") as folder:
        tracks, duration_s, warnings = _split(path, Path(folder))
        if len(tracks) == 1:
            return _transcript(loaded, path)
        heard = [(track[0], _transcript(loaded, _file(Path(folder), track[0]))) for track in tracks]
    known_s = [one.seconds for _, one in heard if one.seconds is not None]
    return Transcript(
        segments=[
            replace(segment, channel=channel) for channel, one in heard for segment in one.segments
        ],
        duration=duration_s,
        channels=sum(map(len, tracks)),
        model=heard[0][1].model,
        source=str(path),
        channel_map=channel_map(tracks),
        seconds=sum(known_s) if len(known_s) == len(heard) else None,
        warnings=list(dict.fromkeys([*warnings, *(w for _, one in heard for w in one.warnings)])),
        from_cache=all(one.from_cache for _, one in heard),
    )


def _transcript(loaded: LoadedRecognizer, path: Path) -> Transcript:
    answer: object = loaded.recognizer.transcribe(path)
    if not isinstance(answer, Transcript):
        raise TranscriptionError(
            f"{loaded.info.name}.transcribe вернул {type(answer).__name__}, а нужен Transcript"
        )
    return answer


def _file(folder: Path, channel: int) -> Path:
    return folder / f"{channel}.wav"


def _split(path: Path, folder: Path) -> tuple[list[list[int]], float, Sequence[str]]:
    """Write each channel to a file; the tracks, seconds of audio, and what was repaired."""
    tracks: list[list[int]] = []
    n_samples = 0
    with open_audio(path) as reader, ExitStack() as stack:
        files: list[sf.SoundFile] = []
        for block in reader.blocks(_BLOCK_S):
            if not files:
                tracks = [list(range(len(block)))]
                files = [
                    stack.enter_context(
                        sf.SoundFile(_file(folder, channel), "w", SAMPLE_RATE, 1, "PCM_16")
                    )
                    for channel in range(len(block))
                ]
            tracks = [group for track in tracks for group in equal_channels(block, track)]
            n_samples += block.shape[1]
            for file, samples in zip(files, block, strict=True):
                file.write(samples)
        return sorted(tracks), n_samples / SAMPLE_RATE, reader.warnings
