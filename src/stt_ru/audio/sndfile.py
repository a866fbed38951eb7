"""Recordings that libsndfile reads."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import numpy as np
import soundfile as sf

from stt_ru.audio.file_bytes import (
    STREAMED_SIZE,
    View,
    find_wav_data,
    has_last_ogg_page,
    has_mp3_length,
)
from stt_ru.audio.source import READ_VALUES, Frames, cut_sentence
from stt_ru.errors import AudioError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import FileIO

# A recording is called cut when it lacks more than this. Headers count frames exactly, but writers
# that take the header for data overstate it by a few.
MISSING_FRAMES_S = 0.01
UNREAD_TAIL_S = 0.25
UNREAD_TAIL_SHARE = 0.05  # of the file, for formats without a size of their data; tags are smaller


class _SoundFile(sf.SoundFile):  # type: ignore[misc]  # soundfile declares no types
    """A file that is only read forward.

    Left seekable, ``SoundFile.read`` seeks after each piece to where it is; MP3 decoders then lose
    their bit reservoir and complain on stderr. It also stops where the header says.
    """

    def seekable(self) -> bool:
        return False


class SndfileSource:
    """libsndfile."""

    def __init__(self, file: FileIO) -> None:
        self._file = file
        self._size = os.fstat(file.fileno()).st_size
        # All peeks come before opening: a decoder on the descriptor shares its position.
        self._wav = find_wav_data(file, self._size)
        has_length = has_mp3_length(file)
        self._has_last_page = has_last_ogg_page(file)
        view: View | None = None
        if self._wav is not None and self._wav.is_streamed:
            # Where the header says 0 libsndfile finds no data; a size too large means "to the end".
            view = View(file, patch_at=self._wav.size_at, patch=b"\xff\xff\xff\xff")
        elif self._wav is not None and self._wav.n_unread:
            # With another file behind the first, libsndfile opens neither.
            view = View(file, n_hidden=self._wav.n_unread)
        self._sound = self._open(view)
        self._has_length = self._sound.frames < 1 << 62  # FLAC without a length: 2**63 - 1
        if self._sound.format == "MP3" and not has_length:
            # mpg123 guesses the length from the first bit rate and libsndfile stops there: of a
            # variable rate most may be lost. A file that seems endless is read to its real end.
            self._sound.close()
            self._sound = self._open(View(file, extra_length=1 << 40))
            self._has_length = False
        self.channels = int(self._sound.channels)
        self.sample_rate = int(self._sound.samplerate)
        self.keeps_level = self._sound.subtype in {"FLOAT", "DOUBLE"}
        self._n_read = max(1024, READ_VALUES // self.channels)
        self._n_frames = 0
        self._is_cut = False

    def _open(self, view: View | None) -> _SoundFile:
        self._file.seek(0)
        # A descriptor is read in C, without the GIL. On Windows it would belong to another C
        # runtime than libsndfile's.
        if view is None and os.name == "posix":
            return _SoundFile(self._file.fileno(), closefd=False)
        return _SoundFile(view or View(self._file))

    def read(self) -> Frames:
        """See `Source`."""
        if self._is_cut:
            return np.empty((0, self.channels), np.float32)
        # Asked for more than the header promises, FLAC decodes it all and libsndfile drops it; the
        # position in the file then no longer tells that something is left.
        n_left = self._sound.frames - self._n_frames
        n_read = min(self._n_read, max(1, n_left))
        buffer = np.full((n_read, self.channels), np.nan, np.float32)
        try:
            frames: Frames = self._sound.read(n_read, out=buffer)
        except sf.LibsndfileError as error:
            # In practice only FLAC fails in the middle. What was decoded before is no longer NaN.
            is_missing = np.isnan(buffer[:, 0])
            frames = buffer[: int(is_missing.argmax()) if is_missing.any() else None]
            self._is_cut = self._file.tell() >= self._size
            if not self._is_cut:
                at_s = (self._n_frames + len(frames)) / self.sample_rate
                raise AudioError(f"файл испорчен: звук читается только до {at_s:.1f} с") from error
        self._n_frames += len(frames)
        return frames

    def warnings(self, decoded_s: float) -> Iterator[str]:
        """See `Source`."""
        promised_s = self._promised_s(decoded_s)
        if promised_s is not None and promised_s - decoded_s > MISSING_FRAMES_S:
            yield cut_sentence(decoded_s, promised_s)
        elif self._is_cut or (self._sound.format == "OGG" and not self._has_last_page):
            yield (
                f"файл оборван: у записи нет конца, прочитано {decoded_s:.1f} с, "
                "а сколько было, неизвестно"
            )
        else:
            yield from self._tail_warnings(decoded_s)

    def _promised_s(self, decoded_s: float) -> float | None:
        """Length that the header promises, None when it does not say."""
        if self._wav is not None:
            if self._wav.is_streamed or not self._wav.n_bytes:
                return None
            return decoded_s * max(1.0, self._wav.n_promised / self._wav.n_bytes)
        # libsndfile lowers the length of AIFF, AU and W64 to what the file holds, and logs it.
        log = re.search(
            r"(?:SSND|Data Size|riff) *: (\d+) \(should be (\d+)\)", self._sound.extra_info
        )
        if log is not None:
            promised, there = int(log[1]), int(log[2])
            is_known = there > 0 and promised < STREAMED_SIZE
            return decoded_s * promised / there if is_known else None
        return self._sound.frames / self.sample_rate if self._has_length else None

    def _tail_warnings(self, decoded_s: float) -> Iterator[str]:
        if self._wav is not None:
            n_unread, n_read = self._wav.n_unread, self._wav.n_bytes
            if n_unread * decoded_s > UNREAD_TAIL_S * n_read:
                yield (
                    f"по заголовку звука {decoded_s:.1f} с, а в файле после него ещё "
                    f"{n_unread} байт, они не прочитаны: файл склеен из нескольких, перекодируйте "
                    "его, или заголовок неверен, исправьте его"
                )
        elif self._sound.format in {"FLAC", "MP3", "OGG"}:
            n_unread = self._size - self._file.tell()
            if n_unread > UNREAD_TAIL_SHARE * self._size:
                yield (
                    f"звук кончился на {decoded_s:.1f} с, а в файле после него ещё {n_unread} байт,"
                    " они не прочитаны: файл склеен из нескольких, или заголовок неверен; "
                    "перекодируйте его"
                )

    def close(self) -> None:
        """See `Source`."""
        self._sound.close()
