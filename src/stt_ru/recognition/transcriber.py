"""From a recording to its transcript with a model of onnx-asr."""

from __future__ import annotations

import math
import os
import re
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from stt_ru.audio import SAMPLE_RATE, Waveform, open_audio, waveform_of
from stt_ru.audio.tracks import channel_map, equal_channels
from stt_ru.defaults import BATCH_SIZE, DEFAULT_MODEL, EMBEDDED_MODEL, LANGUAGE, QUANTIZATION
from stt_ru.errors import ModelLoadError, UsageError
from stt_ru.recognition.onnx_models import (
    VAD_FILE,
    LoadedModel,
    SpeechModel,
    load_model,
    load_vad,
    providers_for,
    vad_advice,
    word_starts,
)
from stt_ru.recognition.recognizer import Transcript
from stt_ru.recognition.segmentation import (
    QuietSegmenter,
    Samples,
    Segmenter,
    Stretch,
    VadOptions,
    VadSegmenter,
    VoiceDetector,
    WholeSegmenter,
)
from stt_ru.results import Segment
from stt_ru.scoring.counts import score_texts
from stt_ru.text.numbers import split_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

_BLOCK_S = 30.0  # seconds of one channel read at a time
_WINDOW_S = 300.0  # seconds of one channel the VAD sees at a time
_SHORTEST = SAMPLE_RATE // 10  # 1600 samples, 100 ms: the models' preprocessors fail on less
_WHISPER_LONGEST_S = 30.0  # Whisper hears the first 30 s of what it is given and drops the rest
_SAME_TRACKS_WER = 0.2  # tracks whose texts differ less are one conversation heard twice
_SAME_TRACKS_WORDS = 2  # one word agrees by chance


class Transcriber:
    """A model of onnx-asr with Silero VAD, ready to recognise recordings of any length.

    Args:
        model: A name of onnx-asr, of Hugging Face (with «/»), or ``tiny-ru``, the embedded one.
        quantization: Weights to look for, e.g. ``int8``; without such weights the full ones are
            taken with a warning. None for full ones.
        model_dir: Folder with the model's files; None for Hugging Face's cache and network.
        language: Told to multilingual models; others ignore it.
        providers: ONNX Runtime providers, best first; None for the best one that is there.
        vad: How recordings are cut; None for not at all. ``tiny-ru`` needs no VAD and uses one only
            when ``vad_dir`` is given.
        vad_dir: Folder with ``silero_vad.onnx``; None for Hugging Face's cache and network.
        split_channels: Recognise each distinct channel by itself; False for the mean of all.
        batch_size: Stretches recognised in one call. More than one pads them to the longest, and
            int8 models then give slightly other text.
        offline: Never use the network.
        workers: Recordings that are recognised at the same time, when `transcribe` is called from
            several threads; the processor's cores are divided among them.
        longest_s: Without a VAD, a longer recording is refused; None for
            ``VadOptions().max_speech_s``.

    Attributes:
        name: The model's name.
        label: The name for people, with the folder or «демонстрационная».
        settings: Fields for a report's signature.
        knows_channels: True: each distinct channel is recognised by itself.
        concurrency: Threads that may call `transcribe` gainfully: one more than ``workers``, so
            that the next recording is read meanwhile.
        warnings: Sentences in Russian about the loading.

    Raises:
        UsageError: If an argument cannot be right.
        ModelLoadError: If the model cannot be loaded. A VAD that cannot be had from Hugging Face is
            a
            warning: recordings no longer than ``vad.max_speech_s`` are then recognised whole.
    """

    def __init__(
        self,
        model: str = DEFAULT_MODEL,
        *,
        quantization: str | None = QUANTIZATION,
        model_dir: str | Path | None = None,
        language: str = LANGUAGE,
        providers: Sequence[str] | None = None,
        vad: VadOptions | None = VadOptions(),  # noqa: B008 - frozen
        vad_dir: str | Path | None = None,
        split_channels: bool = True,
        batch_size: int = BATCH_SIZE,
        offline: bool = False,
        workers: int = 1,
        longest_s: float | None = None,
    ) -> None:
        if not isinstance(vad, VadOptions | None):
            raise UsageError(f"vad: нужны VadOptions или None, а не {vad!r}")
        options = vad or VadOptions(max_speech_s=longest_s or VadOptions().max_speech_s)
        for text in (model, language, *(() if quantization is None else (quantization,))):
            if not isinstance(text, str):
                raise UsageError(f"model, language и quantization – строки, а не {text!r}")
        check_request(model, language, options.max_speech_s)
        counts: tuple[object, ...] = (batch_size, workers)
        for count in counts:
            if not isinstance(count, int) or count < 1:
                raise UsageError(
                    f"batch_size={batch_size!r}, workers={workers!r}: нужны целые числа от 1"
                )
        folder = None if model_dir is None else Path(model_dir)
        providers = providers_for("auto") if providers is None else providers
        loaded = load_model(
            model,
            folder=folder,
            quantization=quantization,
            providers=providers,
            intra_op_threads=max(1, available_cores() // workers),
            offline=offline,
        )
        self.name = model
        self.label = _label(model, folder)
        self.workers = workers
        self.knows_channels = True
        self.concurrency = workers + 1
        self._model = loaded.adapter
        self._language = language
        self._split_channels = split_channels
        self._batch_size = batch_size
        self._options = options
        self._detector: VoiceDetector | None = None
        self._advice = "уберите --no-vad или увеличьте --max-speech-s"
        self._turns = threading.BoundedSemaphore(workers)
        warnings = list(loaded.warnings)
        self._cuts_by_itself = model == EMBEDDED_MODEL and vad_dir is None
        if vad is not None and not self._cuts_by_itself:
            try:
                self._detector = load_vad(
                    None if vad_dir is None else Path(vad_dir), offline=offline
                )
            except ModelLoadError as error:
                if vad_dir is not None:
                    raise
                self._advice = vad_advice()
                warnings.append(
                    f"{error}. Без VAD записи до {options.max_speech_s:g} с распознаются целиком, "
                    "более длинные – ошибка"
                )
        self.warnings = tuple(warnings)
        self.settings = self._describe(loaded)
        if language != "ru":
            self._try_language()

    @property
    def adapter(self) -> SpeechModel:
        """The model itself, as onnx-asr has loaded it."""
        return self._model

    def transcribe(self, path: str | Path) -> Transcript:
        """Recognise one recording.

        The file is decoded once, in pieces; each distinct channel is recognised once. May be called
        from several threads.

        Raises:
            AudioError: If the file cannot be read.
            MissingExtraError: If reading it takes a package that is not installed.
            TranscriptionError: If it cannot be recognised, e.g. it is too long without a VAD.
            UsageError: If that is not a path.
        """
        if not isinstance(path, (str, os.PathLike)):
            raise UsageError(
                f"transcribe: нужен путь записи, а не {type(path).__name__}; отсчёты в памяти "
                "распознаёт transcribe_waveform(samples, sampling_rate)"
            )
        clock = _Stopwatch()
        with open_audio(path, sample_rate=SAMPLE_RATE, mono=not self._split_channels) as reader:
            rows = reader.channels if self._split_channels else 1
            # Many channels are held at once: shorter pieces of each keep the memory the same.
            blocks = reader.blocks(max(1.0, _BLOCK_S / rows))
            tracks = self._recognize_tracks(blocks, rows, clock)
            warnings, duration_s = list(reader.warnings), reader.duration_s
        segments = sorted(
            (
                replace(segment, channel=track.channels[0])
                for track in tracks
                for segment in track.recognized
            ),
            key=lambda segment: (segment.start, segment.channel),
        )
        if _tracks_agree(tracks):
            warnings.append(
                "тексты каналов почти совпадают: похоже, один разговор записан дважды, "
                "попробуйте --mono"
            )
        return Transcript(
            segments=tuple(segments),
            duration=duration_s,
            channels=reader.channels,
            model=self.name,
            source=str(path),
            channel_map=(
                channel_map(track.channels for track in tracks)
                if self._split_channels
                else (0,) * reader.channels
            ),
            seconds=clock.seconds,
            warnings=tuple(warnings),
        )

    def transcribe_waveform(
        self, samples: NDArray[np.float32], sampling_rate: int = SAMPLE_RATE
    ) -> Transcript:
        """Recognise samples that are in memory: the text is that of a file that holds them.

        Args:
            samples: One channel in [-1, 1], shape (n,).
            sampling_rate: Hz.

        Raises:
            AudioError: If they are not such samples, or the rate is invalid.
            TranscriptionError: If they cannot be recognised, e.g. are too long without a VAD.
        """
        clock = _Stopwatch()
        waveform = waveform_of(samples, sampling_rate, sample_rate=SAMPLE_RATE)
        size = round(_BLOCK_S * SAMPLE_RATE)
        starts = range(0, waveform.shape[1], size)
        blocks = (waveform[:, start : start + size] for start in starts)
        (track,) = self._recognize_tracks(blocks, 1, clock)
        return Transcript(
            segments=tuple(track.recognized),
            duration=len(samples) / sampling_rate,
            model=self.name,
            seconds=clock.seconds,
        )

    def _recognize_tracks(
        self, blocks: Iterable[Waveform], rows: int, clock: _Stopwatch
    ) -> list[_Track]:
        tracks = [_Track(list(range(rows)), self._segmenter(rows))]
        for block in blocks:
            tracks = [part for track in tracks for part in track.split(block)]
            for track in tracks:
                with self._turn(clock):
                    self._recognize(track, track.segmenter.feed(block[track.channels[0]]))
        for track in tracks:
            with self._turn(clock):
                self._recognize(track, track.segmenter.finish())
        return tracks

    def _segmenter(self, tracks: int) -> Segmenter:
        if self._cuts_by_itself:
            return QuietSegmenter(self._options.max_speech_s)
        if self._detector is None:
            return WholeSegmenter(self._options.max_speech_s, self._advice)
        return VadSegmenter(self._detector, self._options, _WINDOW_S * 2 / max(2, tracks))

    def _recognize(self, track: _Track, stretches: list[Stretch]) -> None:
        for first in range(0, len(stretches), self._batch_size):
            batch = stretches[first : first + self._batch_size]
            answers = self._model.recognize(
                [_long_enough(stretch.samples) for stretch in batch], language=self._language
            )
            for stretch, heard in zip(batch, answers, strict=True):
                starts = [round(stretch.start_s + start_s, 3) for start_s in word_starts(heard)]
                track.recognized.append(
                    Segment(stretch.start_s, stretch.end_s, heard.text, word_starts=starts)
                )

    @contextmanager
    def _turn(self, clock: _Stopwatch) -> Iterator[None]:
        with clock.stopped():
            self._turns.acquire()
        try:
            yield
        finally:
            self._turns.release()

    def _try_language(self) -> None:
        try:
            self._model.recognize([np.zeros(SAMPLE_RATE // 2, np.float32)], language=self._language)
        except KeyError as error:
            raise ModelLoadError(f"модель {self.name} не знает языка «{self._language}»") from error

    def _describe(self, loaded: LoadedModel) -> Mapping[str, str]:
        options = self._options
        if self._detector is not None:
            vad = (
                f"silero(threshold={options.threshold:g},min_speech={options.min_speech_ms:g}ms,"
                f"max_speech={options.max_speech_s:g}s,min_silence={options.min_silence_ms:g}ms,"
                f"pad={options.speech_pad_ms:g}ms)"
            )
        elif self._cuts_by_itself:
            vad = f"quiet(max={options.max_speech_s:g}s)"
        else:
            vad = f"none(max={options.max_speech_s:g}s)"
        return {
            "weights": loaded.weights,
            "quant": loaded.quantization or "none",
            "lang": self._language,
            "vad": vad,
            "channel": "own" if self._split_channels else "mono",
            "provider": loaded.provider,
            "workers": str(self.workers),
            "batch": str(self._batch_size),
        }


def available_cores() -> int:
    """Processor cores this process may use: those it may run on, or its container's share."""
    has_affinity = hasattr(os, "sched_getaffinity")
    cores = (len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count()) or 1
    quota = container_cores(Path("/sys/fs/cgroup"))
    return cores if quota is None else max(1, min(cores, math.ceil(quota)))


def container_cores(root: Path) -> float | None:
    """Cores' worth of time that Linux gives a container; None without a limit.

    A container limited to two cores of a large machine still sees all of them, and as many workers
    would take memory and wait for one another.

    Args:
        root: Where the control groups are mounted, of version 2 or 1.
    """
    for names in (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")):
        try:
            quota, period = " ".join((root / name).read_text() for name in names).split()
            return int(quota) / int(period) if int(quota) > 0 else None
        except (OSError, ValueError):  # no such file, or «max»
            continue
    return None


@dataclass
class _Track:
    """Channels that have been equal so far, and what was recognised in them."""

    channels: list[int]
    segmenter: Segmenter
    recognized: list[Segment] = field(default_factory=list)

    def split(self, block: Waveform) -> list[_Track]:
        """The tracks this one becomes with the next block; itself while all channels agree."""
        groups = equal_channels(block, self.channels)
        if len(groups) == 1:
            return [self]
        return [
            _Track(channels, self.segmenter.copy(), list(self.recognized)) for channels in groups
        ]


class _Stopwatch:
    """Wall seconds since it was made, pauses not counted."""

    def __init__(self) -> None:
        self._started = time.perf_counter()

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._started

    @contextmanager
    def stopped(self) -> Iterator[None]:
        paused = time.perf_counter()
        try:
            yield
        finally:
            self._started += time.perf_counter() - paused


def check_request(model: str, language: str, longest_s: float) -> None:
    """Refuse what no model could do, before one is loaded.

    Raises:
        UsageError: Saying what is wrong.
    """
    if not re.fullmatch(r"[a-z]{2,3}", language):
        raise UsageError(f"язык «{language}»: нужен код из двух-трёх латинских букв, например ru")
    if "whisper" in model.lower() and longest_s > _WHISPER_LONGEST_S:
        raise UsageError(
            f"Whisper слышит не больше {_WHISPER_LONGEST_S:g} с за раз, остальное он отбросил бы: "
            f"--max-speech-s {longest_s:g} для модели {model} не годится"
        )


def check_vad_folder(folder: Path) -> None:
    """Refuse a folder without the VAD's file before any model is loaded.

    Raises:
        UsageError: Saying what is missing.
    """
    if not (folder / VAD_FILE).is_file():
        raise UsageError(f"в каталоге {folder} нет файла {VAD_FILE}; {vad_advice()}")


def _label(model: str, folder: Path | None) -> str:
    if model == EMBEDDED_MODEL and folder is None:
        return f"{model} (демонстрационная)"
    return model


def _long_enough(samples: Samples) -> Samples:
    return np.pad(samples, (0, max(0, _SHORTEST - len(samples))))


def _tracks_agree(tracks: Sequence[_Track]) -> bool:
    if len(tracks) < 2:
        return False
    first, *others = (
        " ".join(split_words(" ".join(segment.text for segment in track.recognized)).words)
        for track in tracks
    )
    for other in others:
        rate = score_texts(first, other).words.rate
        if rate is None or rate > _SAME_TRACKS_WER or len(first.split()) < _SAME_TRACKS_WORDS:
            return False
    return True
