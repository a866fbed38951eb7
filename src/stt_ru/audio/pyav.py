"""Recordings that FFmpeg reads, through PyAV (extra ``media``)."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from stt_ru.audio.file_bytes import View
from stt_ru.audio.source import READ_VALUES, Frames, cut_sentence
from stt_ru.errors import AudioError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import FileIO

    import av

_UNKNOWN = "Invalid data found when processing input"  # all that FFmpeg says of most broken files
PACKED_FRAMES = 8192  # of PyAV at a time, 1/6 s of 48 kHz

# Containers round their length and count encoder padding.
MISSING_CONTAINER_S = 0.25
MAX_BAD_PACKETS = 0.1  # of all; beyond it a recording is not recognised

# Containers whose header holds the length; for the others FFmpeg divides the size by the bit rate.
_HAS_LENGTH = {"mov", "matroska", "asf", "avi", "flv"}


def _open(file: FileIO) -> av.container.InputContainer:
    """The container; tags in a Russian code page are no reason to refuse a recording.

    PyAV 14 to 18 decode tags strictly unless told otherwise, PyAV 19 never fails on them and has
    nothing to be told: the argument goes only to a version that has just shown that it needs it.
    """
    import av

    opening: Any = av.open  # its signature is not the same in all versions
    container: av.container.InputContainer
    # No other file or address may be opened through this one (playlists, references).
    options = {"protocol_whitelist": "none"}
    try:
        container = opening(View(file), "r", options=options)
    except UnicodeDecodeError:
        container = opening(View(file), "r", options=options, metadata_errors="replace")
    return container


class AvSource:
    """PyAV: the first audio track of anything FFmpeg reads. It keeps FFmpeg's log silent."""

    def __init__(self, file: FileIO) -> None:
        import av

        self._error: type[Exception] = av.FFmpegError
        try:
            self._container = _open(file)
        except av.FFmpegError as error:
            reason = "" if error.strerror == _UNKNOWN else f" (FFmpeg: {error.strerror})"
            raise AudioError(
                f"формат не распознан, или файл испорчен или оборван{reason}"
            ) from error
        tracks = self._container.streams.audio
        if not tracks:
            raise AudioError("в файле нет звуковой дорожки")
        self._n_tracks = len(tracks)
        self._track = tracks[0]
        codec = self._track.codec_context
        codec.thread_count = 1  # recordings are decoded in parallel, one is not
        self.keeps_level = codec.name.startswith(("pcm_f32", "pcm_f64"))
        self._n_packets = 0
        self._n_bad_packets = 0
        self._is_cut = False
        frames = self._decode()
        first = next(frames, None)
        if first is None:
            raise AudioError("в файле нет ни одного отсчёта звука: звуковая дорожка не читается")
        # The header may say otherwise (HE-AAC: half of the rate).
        self.sample_rate = first.sample_rate
        self.channels = first.layout.nb_channels
        # Not frame.to_ndarray(): from 8 channels on PyAV reads planes that are not there. Packed
        # samples are one plane; many in one frame, as each costs more than its conversion.
        self._to_packed = av.AudioResampler(format="flt", frame_size=PACKED_FRAMES)
        self._pieces = self._pack(chain([first], frames))

    def _decode(self) -> Iterator[av.AudioFrame]:
        packets = self._container.demux(self._track)
        while True:
            try:
                packet = next(packets, None)
            except self._error:
                self._is_cut = True
                return
            if packet is None:
                return
            self._n_packets += 1
            try:
                decoded: Any = packet.decode()  # some versions type subtitles in it too
                yield from decoded
            except self._error:
                self._n_bad_packets += 1

    def _pack(self, frames: Iterator[av.AudioFrame]) -> Iterator[Frames]:
        for frame in frames:
            if (frame.sample_rate, frame.layout.nb_channels) != (self.sample_rate, self.channels):
                raise AudioError(
                    f"посреди файла меняется звук: {self.sample_rate} Гц, каналов {self.channels}, "
                    f"потом {frame.sample_rate} Гц, каналов {frame.layout.nb_channels}; "
                    "перекодируйте его"
                )
            yield from self._converted(frame)
        yield from self._converted(None)

    def _converted(self, frame: av.AudioFrame | None) -> Iterator[Frames]:
        for packed in self._to_packed.resample(frame):
            values = packed.to_ndarray().astype(np.float32, copy=False)
            yield values.reshape(-1, self.channels)

    def read(self) -> Frames:
        """See `Source`."""
        pieces: list[Frames] = []
        n_values = 0
        for piece in self._pieces:
            pieces.append(piece)
            n_values += piece.size
            if n_values >= READ_VALUES:
                break
        if pieces:
            return np.concatenate(pieces)
        if self._n_bad_packets > MAX_BAD_PACKETS * self._n_packets:
            raise AudioError(
                f"файл испорчен: не читаются {self._n_bad_packets} из {self._n_packets} "
                "кусков звука"
            )
        return np.empty((0, self.channels), np.float32)

    def warnings(self, decoded_s: float) -> Iterator[str]:
        """See `Source`."""
        if self._n_tracks > 1:
            yield f"звуковых дорожек {self._n_tracks}, прочитана первая"
        promised_s = self._promised_s()
        if promised_s is not None and promised_s - decoded_s > MISSING_CONTAINER_S:
            yield cut_sentence(decoded_s, promised_s)
        elif self._n_bad_packets or self._is_cut:
            yield (
                f"файл оборван или испорчен: не прочитаны {self._n_bad_packets} из "
                f"{self._n_packets} кусков звука, прочитано {decoded_s:.1f} с"
            )

    def _promised_s(self) -> float | None:
        """Length of the track by the header; None if it is missing or guessed from the size."""
        if not _HAS_LENGTH & set(self._container.format.name.split(",")):
            return None
        if self._track.duration is not None and self._track.time_base is not None:
            return float(self._track.duration * self._track.time_base)
        if len(self._container.streams) == 1 and self._container.duration is not None:
            return self._container.duration / 1_000_000  # AV_TIME_BASE: microseconds
        return None

    def close(self) -> None:
        """See `Source`."""
        self._container.close()
