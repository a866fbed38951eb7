"""Recordings from disk: what they hold, at the rate asked for, and what is wrong with them.

The only module that opens audio files. A file is known by its content, never by its name.
libsndfile (soundfile) decodes what it can, PyAV (extra ``media``) the rest, soxr brings every rate
to the one asked for. Samples are counted as they are decoded, since headers lie, and read in
pieces, so that memory does not depend on the length.

What can be repaired is repaired with a warning, what cannot is an ``AudioError``; both are
sentences for the user, in Russian, without the path, which the caller adds. docs/audio.md lists
them.
"""

from __future__ import annotations

import codecs
import os
import re
import stat
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, Self, TypeAlias

import numpy as np
import soundfile as sf
import soxr
from numpy.typing import NDArray

from stt_ru.errors import AudioError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import FileIO
    from types import TracebackType

    import av

Waveform: TypeAlias = NDArray[np.float32]
"""Samples, shape ``(n_channels, n_samples)``, in [-1, 1]."""

Frames: TypeAlias = NDArray[np.float32]
"""Samples as decoders give them, shape ``(n_samples, n_channels)``, of any size."""

MAX_CHANNELS = 64  # of microphone arrays; beyond it a header is damaged
MIN_SAMPLE_RATE = 4_000
MAX_SAMPLE_RATE = 768_000  # the highest that recorders offer; beyond it a header is damaged

PACKED_FRAMES = 8192  # of PyAV at a time, 1/6 s of 48 kHz
READ_VALUES = 1 << 17  # values decoded at a time, over all channels: 0.5 MB, 8 s of 16 kHz mono

FULL_SCALE_TOLERANCE = 2**-10  # 32768/32767 and other roundings of full scale are not clipping
ABSURD_PEAK = 8.0  # +18 dBFS; no gain explains it, integers stored as floats do
ABSURD_SHARE = 0.01  # of one piece; fewer samples are damage, and are clipped

# A recording is called cut when it lacks more than this. Headers count frames exactly, but writers
# that take the header for data overstate it by a few; containers round and count encoder padding.
MISSING_FRAMES_S = 0.01
MISSING_CONTAINER_S = 0.25
UNREAD_TAIL_S = 0.25
UNREAD_TAIL_SHARE = 0.05  # of the file, for formats without a size of their data; tags are smaller
MAX_BAD_PACKETS = 0.1  # of all; beyond it a recording is not recognised

STREAMED_SIZE = 0x7FFF_0000  # a writer that could not seek back puts 0 or some value above this

# Containers whose header holds the length; for the others FFmpeg divides the size by the bit rate.
_HAS_LENGTH = {"mov", "matroska", "asf", "avi", "flv"}

_MEDIA_MARKS = (
    (4, b"ftyp", "MP4 (M4A, MOV, 3GP)"),
    (0, b"\x1aE\xdf\xa3", "Matroska (MKV, WebM)"),
    (0, b"0&\xb2u", "ASF (WMA, WMV)"),
    (0, b"#!AMR", "AMR"),
    (0, b"\xff\xf1", "AAC"),
    (0, b"\xff\xf9", "AAC"),
    (0, b"FLV", "FLV"),
    (8, b"AVI ", "AVI"),
    (0, b"wvpk", "WavPack"),
    (0, b"MAC ", "Monkey's Audio"),
)
_MEDIA_SUFFIXES = frozenset(
    {".3g2", ".3gp", ".aac", ".ac3", ".amr", ".ape", ".asf", ".avi", ".awb", ".dsf", ".dts"}
    | {".flv", ".m4a", ".m4b", ".m4v", ".mka", ".mkv", ".mov", ".mp4", ".mpc", ".mpeg", ".mpg"}
    | {".mts", ".spx", ".ts", ".tta", ".vob", ".webm", ".wma", ".wmv", ".wv"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Audio:
    """A whole recording in memory.

    Attributes:
        waveform: Samples at ``sample_rate``, C-contiguous.
        warnings: What was repaired, sentences for the user.
    """

    waveform: Waveform
    sample_rate: int
    warnings: tuple[str, ...] = ()

    @property
    def channels(self) -> int:
        """Channels of the waveform: 1 when the recording was read with ``mono=True``."""
        return int(self.waveform.shape[0])

    @property
    def duration_s(self) -> float:
        """Length in seconds."""
        return int(self.waveform.shape[1]) / self.sample_rate


def open_audio(path: str | Path, *, sample_rate: int = 16_000, mono: bool = False) -> AudioReader:
    """Open a recording for reading in blocks; see ``AudioReader``."""
    return AudioReader(path, sample_rate=sample_rate, mono=mono)


def load_audio(path: str | Path, *, sample_rate: int = 16_000, mono: bool = False) -> Audio:
    """Read a whole recording into memory.

    Raises:
        AudioError: If it cannot be read, or holds no sound.
        MissingExtraError: If it needs PyAV, and PyAV is not installed.
    """
    with open_audio(path, sample_rate=sample_rate, mono=mono) as reader:
        waveform = np.concatenate(list(reader.blocks(60.0)), axis=1)
        return Audio(waveform=waveform, sample_rate=sample_rate, warnings=reader.warnings)


def waveform_of(
    samples: NDArray[np.floating], sampling_rate: int, *, sample_rate: int = 16_000
) -> Waveform:
    """One channel in memory as a recording of it would be read, shape (1, n).

    Args:
        samples: In [-1, 1], shape (n,); what is beyond is clipped.
        sampling_rate: Theirs, Hz.
        sample_rate: The rate asked for, Hz.

    Raises:
        AudioError: If they are no sound: none, not finite, integers, of several channels.
    """
    kind = np.asarray(samples)
    if kind.ndim != 1 or not np.issubdtype(kind.dtype, np.floating):
        raise AudioError(
            f"нужен массив одного канала с плавающей точкой, а не {kind.dtype} {kind.shape}"
        )
    if not len(kind):
        raise AudioError("в массиве нет ни одного отсчёта звука")
    if not MIN_SAMPLE_RATE <= sampling_rate <= MAX_SAMPLE_RATE:
        raise AudioError(
            f"частота дискретизации {sampling_rate} Гц, а бывает от {MIN_SAMPLE_RATE} до "
            f"{MAX_SAMPLE_RATE}"
        )
    frames = kind.astype(np.float32, copy=False)[:, np.newaxis]
    if not np.isfinite(frames).all():
        raise AudioError("в массиве есть не числа или бесконечности")
    frames = _Repairs().repair(frames, keeps_level=True)
    if sampling_rate != sample_rate:
        frames = soxr.resample(frames, sampling_rate, sample_rate, quality="HQ")
    return _waveform(frames)


class AudioReader:
    """A recording open for one pass from its beginning to its end.

    Attributes:
        path: Where it is.
        channels: Channels of the file, whatever ``mono`` says.
        sample_rate: Rate of what ``blocks`` yields, Hz.
        native_sample_rate: Rate of the file, Hz.

    Raises:
        AudioError: On opening, if the file cannot be read as sound.
        MissingExtraError: If it needs PyAV, and PyAV is not installed.
    """

    def __init__(self, path: str | Path, *, sample_rate: int = 16_000, mono: bool = False) -> None:
        self.path = Path(path)
        self.sample_rate = sample_rate
        self._mono = mono
        with ExitStack() as on_failure:
            file = on_failure.enter_context(_open_regular_file(self.path))
            self._source = _open_source(file, self.path.suffix)
            on_failure.callback(self._source.close)
            self.channels = self._source.channels
            self.native_sample_rate = self._source.sample_rate
            if not MIN_SAMPLE_RATE <= self.native_sample_rate <= MAX_SAMPLE_RATE:
                raise AudioError(
                    f"частота дискретизации по заголовку {self.native_sample_rate} Гц, а бывает от "
                    f"{MIN_SAMPLE_RATE} до {MAX_SAMPLE_RATE}: заголовок испорчен"
                )
            if self.channels > MAX_CHANNELS:
                raise AudioError(
                    f"каналов по заголовку {self.channels}, а бывает до {MAX_CHANNELS}: "
                    "заголовок испорчен"
                )
            self._open_files = on_failure.pop_all()
        self._frames = 0
        self._is_started = False
        self._repairs = _Repairs()
        self._source_warnings: tuple[str, ...] = ()

    @property
    def duration_s(self) -> float:
        """Seconds decoded so far: frames of the file over its rate. Final after the last block."""
        return self._frames / self.native_sample_rate

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was repaired, sentences for the user. Complete after the last block."""
        return (*self._source_warnings, *self._repairs.sentences(self._frames * self.channels))

    def blocks(self, block_s: float) -> Iterator[Waveform]:
        """Yield consecutive blocks of the recording, resampled.

        What they join to does not depend on ``block_s``, to the bit, and channels that are equal
        sample for sample in the file are equal in them.

        Args:
            block_s: Length of a block in seconds, at least one sample. The last may be shorter.

        Yields:
            C-contiguous arrays of shape ``(n_channels, n)``, n > 0; one channel, the mean of all,
            with ``mono=True``. About ``duration_s * sample_rate`` samples in all, at least one.

        Raises:
            AudioError: If the recording is damaged beyond repair or holds no sample. Blocks that
                were yielded before are what could be decoded.
        """
        if not block_s > 0:
            raise ValueError(f"block_s = {block_s}, it must be positive")
        if self._is_started:
            raise RuntimeError("a recording is read once; open it again")
        self._is_started = True
        return _rebuffer(self._resampled(), max(1, round(block_s * self.sample_rate)))

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        self._open_files.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _resampled(self) -> Iterator[Waveform]:
        """Yield the recording at the rate asked for, in pieces of any length."""
        n_channels = 1 if self._mono else self.channels
        resampler = None
        if self.sample_rate != self.native_sample_rate:
            resampler = soxr.ResampleStream(
                self.native_sample_rate, self.sample_rate, n_channels, quality="HQ"
            )
        first: Frames | None = None
        n_out = 0
        for frames in self._repaired():
            if first is None:
                first = frames[:1].copy()
            if resampler is not None:
                frames = resampler.resample_chunk(frames)
            n_out += len(frames)
            yield _waveform(frames)
        if first is None:
            raise AudioError(self._empty_sentence())
        if resampler is not None:
            rest = resampler.resample_chunk(np.empty((0, n_channels), np.float32), last=True)
            # A few samples at a high rate can be none at a low one.
            yield _waveform(rest if n_out + len(rest) else first)

    def _repaired(self) -> Iterator[Frames]:
        """Yield finite frames in [-1, 1], not empty, mixed to one channel if asked."""
        while len(frames := self._source.read()):
            self._frames += len(frames)
            frames = self._repairs.repair(frames, keeps_level=self._source.keeps_level)
            yield frames.mean(axis=1, keepdims=True) if self._mono else frames
        self._source_warnings = tuple(self._source.warnings(self.duration_s))

    def _empty_sentence(self) -> str:
        reasons = "; ".join(self._source_warnings)
        return "в файле нет ни одного отсчёта звука" + (f": {reasons}" if reasons else "")


def _waveform(frames: Frames) -> Waveform:
    # The filter of a resampler overshoots at full scale, lossy decoders do it too.
    return np.clip(frames.T, -1.0, 1.0)


def _rebuffer(pieces: Iterator[Waveform], block_samples: int) -> Iterator[Waveform]:
    """Cut consecutive pieces of any length into blocks of one length; the last may be shorter."""
    pending: list[Waveform] = []
    n_pending = 0
    for piece in pieces:
        pending.append(piece)
        n_pending += piece.shape[1]
        if n_pending < block_samples:
            continue
        joined = np.concatenate(pending, axis=1)
        n_ready = n_pending - n_pending % block_samples
        for start in range(0, n_ready, block_samples):
            yield np.ascontiguousarray(joined[:, start : start + block_samples])
        pending = [joined[:, n_ready:].copy()]
        n_pending -= n_ready
    if n_pending:
        yield np.ascontiguousarray(np.concatenate(pending, axis=1))


class _Repairs:
    """Samples that are no sound, replaced and counted."""

    def __init__(self) -> None:
        self._n_nan = 0
        self._n_infinite = 0
        self._n_loud = 0
        self._peak = 0.0

    def repair(self, frames: Frames, *, keeps_level: bool) -> Frames:
        """Return the frames finite and in [-1, 1].

        Args:
            frames: One piece of the recording, not empty.
            keeps_level: Whether the file itself holds these values. Lossy decoders pass full scale
                by a little on any loud recording, which is nothing to warn about.

        Raises:
            AudioError: If the samples are on another scale, that of integers.
        """
        if frames.min() >= -1.0 and frames.max() <= 1.0:  # false when there is a NaN
            return frames
        self._n_nan += int(np.count_nonzero(np.isnan(frames)))
        self._n_infinite += int(np.count_nonzero(np.isinf(frames)))
        frames = np.nan_to_num(frames, nan=0.0, posinf=1.0, neginf=-1.0)
        if keeps_level:
            levels = np.abs(frames)
            peak = float(levels.max())
            if np.count_nonzero(levels > ABSURD_PEAK) > ABSURD_SHARE * levels.size:
                raise AudioError(
                    f"отсчёты с плавающей точкой доходят до {peak:.6g}, а должны лежать от -1 до 1:"
                    " похоже, это целые числа, записанные как float; поделите их на полную шкалу "
                    "(32768 для 16 бит) и сохраните файл заново"
                )
            self._n_loud += int(np.count_nonzero(levels > 1.0 + FULL_SCALE_TOLERANCE))
            self._peak = max(self._peak, peak)
        return np.clip(frames, -1.0, 1.0)

    def sentences(self, n_values: int) -> Iterator[str]:
        """Yield a sentence for each kind of repair; ``n_values`` were read over all channels."""
        if self._n_nan:
            yield f"не числа (NaN) заменены тишиной: {self._n_nan} из {n_values} отсчётов"
        if self._n_infinite:
            yield (
                f"бесконечности заменены полной шкалой: {self._n_infinite} из {n_values} отсчётов"
            )
        if self._n_loud:
            yield (
                f"отсчёты громче полной шкалы обрезаны: {self._n_loud} из {n_values}, "
                f"пик {self._peak:.6g}"
            )


# --- Sources: one decoder each -------------------------------------------------------------------


class _Source(Protocol):
    """A decoder with a recording in it."""

    channels: int
    sample_rate: int
    keeps_level: bool
    """Whether values beyond [-1, 1] are the file's own, not the decoder's."""

    def read(self) -> Frames:
        """Return the next frames, empty at the end."""

    def warnings(self, decoded_s: float) -> Iterator[str]:
        """Yield what is known to be wrong, once all is read."""

    def close(self) -> None:
        """Let go of the decoder; the file is the reader's."""


def _open_regular_file(path: Path) -> FileIO:
    try:
        status = path.stat()
        # Before opening: open() of a FIFO waits for its writer.
        if stat.S_ISDIR(status.st_mode):
            raise AudioError("это папка, а не файл")
        if not stat.S_ISREG(status.st_mode):
            raise AudioError("это канал или устройство, а нужен обычный файл")
        if status.st_size == 0:
            raise AudioError("файл пуст (0 байт)")
        return path.open("rb", buffering=0)
    except FileNotFoundError as error:
        raise AudioError("файла нет") from error
    except PermissionError as error:
        raise AudioError("нет прав на чтение файла") from error
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise AudioError(f"файл не открывается: {error}") from error


def _open_source(file: FileIO, suffix: str) -> _Source:
    try:
        return _SndfileSource(file)
    except sf.LibsndfileError as error:
        reason = error.error_string
    head = _bytes_at(file, 0, 4096)
    media = next((name for at, mark, name in _MEDIA_MARKS if head.startswith(mark, at)), None)
    if media is None and (text := _text_start(head)) is not None:
        raise AudioError(f"это текст, а не звук: «{text}»")
    try:
        import av  # noqa: F401  # optional and heavy; _AvSource uses it
    except ImportError as error:
        if media is None and suffix.lower() in _MEDIA_SUFFIXES:
            media = suffix[1:].upper()
        if media is not None:
            raise MissingExtraError(f"формат {media}", "media") from error
        raise AudioError(
            f"формат не распознан, или файл испорчен (libsndfile: {reason}); больше форматов "
            'читает PyAV: pip install ".[media]"'
        ) from error
    return _AvSource(file, reason)


class _SoundFile(sf.SoundFile):  # type: ignore[misc]  # soundfile declares no types
    """A file that is only read forward.

    Left seekable, ``SoundFile.read`` seeks after each piece to where it is; MP3 decoders then lose
    their bit reservoir and complain on stderr. It also stops where the header says.
    """

    def seekable(self) -> bool:
        return False


class _SndfileSource:
    """libsndfile."""

    def __init__(self, file: FileIO) -> None:
        self._file = file
        self._size = os.fstat(file.fileno()).st_size
        # All peeks come before opening: a decoder on the descriptor shares its position.
        self._wav = _find_wav_data(file, self._size)
        has_mp3_length = _has_mp3_length(file)
        self._has_last_page = _has_last_ogg_page(file)
        view: _View | None = None
        if self._wav is not None and self._wav.is_streamed:
            # Where the header says 0 libsndfile finds no data; a size too large means "to the end".
            view = _View(file, patch_at=self._wav.size_at, patch=b"\xff\xff\xff\xff")
        self._sound = self._open(view)
        self._has_length = self._sound.frames < 1 << 62  # FLAC without a length: 2**63 - 1
        if self._sound.format == "MP3" and not has_mp3_length:
            # mpg123 guesses the length from the first bit rate and libsndfile stops there: of a
            # variable rate most may be lost. A file that seems endless is read to its real end.
            self._sound.close()
            self._sound = self._open(_View(file, extra_length=1 << 40))
            self._has_length = False
        self.channels = int(self._sound.channels)
        self.sample_rate = int(self._sound.samplerate)
        self.keeps_level = self._sound.subtype in {"FLOAT", "DOUBLE"}
        self._n_read = max(1024, READ_VALUES // self.channels)
        self._n_frames = 0
        self._is_cut = False

    def _open(self, view: _View | None) -> _SoundFile:
        self._file.seek(0)
        # A descriptor is read in C, without the GIL. On Windows it would belong to another C
        # runtime than libsndfile's.
        if view is None and os.name == "posix":
            return _SoundFile(self._file.fileno(), closefd=False)
        return _SoundFile(view or _View(self._file))

    def read(self) -> Frames:
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
                raise AudioError(
                    f"файл испорчен: звук читается только до {at_s:.1f} с "
                    f"(libsndfile: {error.error_string})"
                ) from error
        self._n_frames += len(frames)
        return frames

    def warnings(self, decoded_s: float) -> Iterator[str]:
        promised_s = self._promised_s(decoded_s)
        if promised_s is not None and promised_s - decoded_s > MISSING_FRAMES_S:
            yield _cut_sentence(decoded_s, promised_s)
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
                    f"{n_unread} байт, они не прочитаны: если это звук, исправьте заголовок"
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
        self._sound.close()


class _AvSource:
    """PyAV: the first audio track of anything FFmpeg reads. It keeps FFmpeg's log silent."""

    def __init__(self, file: FileIO, sndfile_reason: str) -> None:
        import av

        self._error: type[Exception] = av.FFmpegError
        try:
            # No other file or address may be opened through this one (playlists, references).
            # Tags in a Russian code page are no reason to refuse a recording.
            self._container = av.open(
                _View(file), "r", options={"protocol_whitelist": "none"}, metadata_errors="replace"
            )
        except av.FFmpegError as error:
            raise AudioError(
                "формат не распознан, или файл испорчен или оборван "
                f"(libsndfile: {sndfile_reason}; FFmpeg: {error.strerror})"
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
                yield from packet.decode()
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
        if self._n_tracks > 1:
            yield f"звуковых дорожек {self._n_tracks}, прочитана первая"
        promised_s = self._promised_s()
        if promised_s is not None and promised_s - decoded_s > MISSING_CONTAINER_S:
            yield _cut_sentence(decoded_s, promised_s)
        elif self._n_bad_packets or self._is_cut:
            yield (
                f"файл оборван или испорчен: не прочитаны {self._n_bad_packets} из "
                f"{self._n_packets} кусков звука, прочитано {decoded_s:.1f} с"
            )

    def _promised_s(self) -> float | None:
        """Length of the track by the header; None when there is none, or it is a guess by size."""
        if not _HAS_LENGTH & set(self._container.format.name.split(",")):
            return None
        if self._track.duration is not None and self._track.time_base is not None:
            return float(self._track.duration * self._track.time_base)
        if len(self._container.streams) == 1 and self._container.duration is not None:
            return self._container.duration / 1_000_000  # AV_TIME_BASE: microseconds
        return None

    def close(self) -> None:
        self._container.close()


def _cut_sentence(decoded_s: float, promised_s: float) -> str:
    return (
        f"файл оборван или испорчен: прочитано {decoded_s:.1f} с из {promised_s:.1f} с, "
        "обещанных заголовком"
    )


# --- Bytes ---------------------------------------------------------------------------------------


class _View:
    """A file as a decoder is to see it: without its name, which decoders would guess by.

    Args:
        file: The recording. Its own position is moved.
        patch_at: Where ``patch`` stands instead of what is in the file.
        patch: The other bytes.
        extra_length: By how many bytes the file pretends to be longer. Its last 128 bytes, where
            MP3 has a tag, are found at the pretended end, and nothing between.
    """

    def __init__(
        self, file: FileIO, *, patch_at: int = 0, patch: bytes = b"", extra_length: int = 0
    ) -> None:
        self._file = file
        self._patch_at = patch_at
        self._patch = patch
        self._extra_length = extra_length
        self._length = os.fstat(file.fileno()).st_size + extra_length
        self._position = 0

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        origin = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._length}[whence]
        if origin + offset < 0:
            return -1  # as lseek; an exception would be printed by the decoder's callback
        self._position = origin + offset
        return self._position

    def tell(self) -> int:
        return self._position

    def read(self, n_bytes: int) -> bytes:
        at = self._position
        if at >= self._length - 128:
            at = max(0, at - self._extra_length)
        data = bytearray(_bytes_at(self._file, at, n_bytes))
        for i, byte in enumerate(self._patch, start=self._patch_at - self._position):
            if 0 <= i < len(data):
                data[i] = byte
        self._position += len(data)
        return bytes(data)


def _bytes_at(file: FileIO, offset: int, n_bytes: int) -> bytes:
    file.seek(offset)
    return file.read(n_bytes)


class _WavData(NamedTuple):
    """The data of a WAV file, in bytes."""

    size_at: int
    """Where its size stands in the file."""
    n_promised: int
    """That size."""
    n_bytes: int
    """How many are read: those promised that exist, or when streamed all that 32 bits can tell."""
    n_unread: int
    """How many follow that are no part of the format."""
    is_streamed: bool
    """Whether the writer did not know the size."""


def _find_wav_data(file: FileIO, n_file: int) -> _WavData | None:
    """Find the data of a WAV file; None for other files and those without data.

    libsndfile shortens a size that is too large without a word, and believes one that is too small.
    """
    head = _bytes_at(file, 0, 12)
    if head[:4] not in {b"RIFF", b"RIFX", b"RF64"} or head[8:] != b"WAVE":
        return None
    order: Literal["big", "little"] = "big" if head[:4] == b"RIFX" else "little"
    at = 12
    n_long: int | None = None
    while len(chunk := _bytes_at(file, at, 8)) == 8:
        name, n_bytes = chunk[:4], int.from_bytes(chunk[4:], order)
        at += 8
        if name == b"ds64":
            n_long = int.from_bytes(_bytes_at(file, at + 8, 8), "little")
        if name != b"data":
            at += n_bytes + n_bytes % 2
            continue
        if head[:4] == b"RF64" and n_long is not None:
            n_bytes = n_long
        n_left = n_file - at
        end = at + n_bytes + n_bytes % 2
        n_after = 0 if _is_chunk(file, end, n_file, order) else max(0, n_file - end)
        is_streamed = n_after > 0 if n_bytes == 0 else STREAMED_SIZE <= n_bytes > n_left
        n_read = min(n_left, 0xFFFF_FFFF if is_streamed else n_bytes)
        return _WavData(
            size_at=at - 4,
            n_promised=n_bytes,
            n_bytes=n_read,
            n_unread=n_left - n_read if is_streamed else n_after,
            is_streamed=is_streamed,
        )
    return None


def _is_chunk(file: FileIO, at: int, n_file: int, order: Literal["big", "little"]) -> bool:
    chunk = _bytes_at(file, at, 8)
    return (
        len(chunk) == 8
        and all(0x20 <= byte < 0x7F for byte in chunk[:4])
        and int.from_bytes(chunk[4:], order) <= n_file - at - 8
    )


def _has_mp3_length(file: FileIO) -> bool:
    """Whether the first frame of an MP3 file says how many there are."""
    head = _bytes_at(file, 0, 10)
    at = 0
    if head[:3] == b"ID3":  # its size has 7 bits a byte
        at = 10 + sum(
            (byte & 0x7F) << shift for byte, shift in zip(head[6:], (21, 14, 7, 0), strict=True)
        )
    frame = _bytes_at(file, at, 4096)
    return any(mark in frame for mark in (b"Xing", b"Info", b"VBRI"))


def _has_last_ogg_page(file: FileIO) -> bool:
    size = os.fstat(file.fileno()).st_size
    tail = _bytes_at(file, max(0, size - 0x1_0000), 0x1_0000)  # a page is shorter than 64 KB
    page = tail.rfind(b"OggS")
    return page >= 0 and len(tail) > page + 5 and bool(tail[page + 5] & 4)


def _text_start(head: bytes) -> str | None:
    """The beginning of a text, None for other bytes."""
    encodings = ["utf-8-sig", "cp1251"]
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        encodings = ["utf-16"]
    for encoding in encodings:
        decoder = codecs.getincrementaldecoder(encoding)()
        try:
            text = decoder.decode(head)  # the last letter may be cut
        except UnicodeDecodeError:
            continue
        line = " ".join(text.split())
        if line and line.isprintable():
            return line[:40] + ("…" if len(line) > 40 else "")
    return None
