"""The command ``stt-ru evaluate``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from stt_ru import defaults
from stt_ru.cli import options
from stt_ru.cli.output import (
    AskedRules,
    Reporting,
    check_output,
    keep,
    print_and_save,
    recordings_folder,
)
from stt_ru.cli.parsing import given_parameters
from stt_ru.cli.run_models import (
    Recognition,
    check_models,
    finish,
    forbid_network,
    run_models,
    without_effect,
)
from stt_ru.cli.russian import whole_number
from stt_ru.errors import UsageError
from stt_ru.recognition.threads import call_in_background

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from stt_ru.evaluation import ModelSource
    from stt_ru.manifest import Sample
    from stt_ru.recognition.model_request import ModelRequest
    from stt_ru.recognition.recognizer import Recognizer

_NOT_FOR_STREAMING: Final = (  # parameters that streaming models do not heed
    "quantization",
    "language",
    "device",
    "workers",
    "batch_size",
    "no_vad",
    "vad_dir",
    "vad_threshold",
    "min_speech_ms",
    "max_speech_s",
    "min_silence_ms",
    "speech_pad_ms",
)


def evaluate(
    ctx: typer.Context,
    manifest: Annotated[
        Path,
        options.argument(
            "МАНИФЕСТ",
            "CSV или JSONL с полями audio, text и необязательным channel, или каталог, где рядом с "
            "каждой записью лежит её текст: call.wav и call.txt.",
        ),
    ],
    model: Annotated[
        list[str] | None,
        options.model_option(
            "Модель onnx-asr, tiny-ru (встроенная, демонстрационная), потоковая – tiny-ru-stream, "
            "sherpa-stream=КАТАЛОГ, vosk-stream=КАТАЛОГ – или МОДУЛЬ:ФУНКЦИЯ своего "
            f"распознавателя; можно повторять (по умолчанию {defaults.DEFAULT_MODEL}).",
        ),
    ] = None,
    output: options.Output = None,
    embed_audio: options.EmbedAudio = False,
    quiet: options.Quiet = False,
    quantization: options.Quantization = defaults.QUANTIZATION,
    model_dir: Annotated[
        Path | None,
        options.folder_option(
            "--model-dir", panel=options.MODEL, help="Файлы модели, если она одна."
        ),
    ] = None,
    language: options.Language = defaults.LANGUAGE,
    device: options.Device = defaults.DEVICE,
    offline: options.Offline = False,
    workers: Annotated[
        str,
        options.option(
            "--workers",
            metavar="N|auto",
            panel=options.WORK,
            help="Сколько записей распознавать одновременно (по умолчанию auto – по числу ядер).",
        ),
    ] = "auto",
    batch_size: Annotated[
        int,
        options.count_option(
            "--batch-size",
            panel=options.WORK,
            help=f"Отрезков в одном вызове модели (по умолчанию {defaults.BATCH_SIZE}: текст не "
            "зависит от соседей).",
        ),
    ] = defaults.BATCH_SIZE,
    mono: options.Mono = False,
    no_vad: options.NoVad = False,
    vad_dir: options.VadFolder = None,
    vad_threshold: options.VadThreshold = defaults.VAD_THRESHOLD,
    min_speech_ms: options.MinSpeechMs = defaults.MIN_SPEECH_MS,
    max_speech_s: options.MaxSpeechS = defaults.MAX_SPEECH_S,
    min_silence_ms: options.MinSilenceMs = defaults.MIN_SILENCE_MS,
    speech_pad_ms: options.SpeechPadMs = defaults.SPEECH_PAD_MS,
    group_by: options.GroupBy = None,
    cache: Annotated[
        Path | None,
        options.folder_option(
            "--cache",
            panel=options.WORK,
            help="Хранить распознанное здесь и не распознавать дважды: прерванный прогон "
            "продолжается, исправленный эталон стоит секунд.",
        ),
    ] = None,
    variants: options.Variants = False,
    numbers: options.Numbers = "as-is",
    fillers: options.Fillers = False,
    glossary: options.GlossaryFile = None,
    allow_empty: options.AllowEmpty = False,
) -> None:
    """Считает WER, CER и скорость моделей на ваших записях.

    Тексты сравниваются после нормализации: без регистра и знаков препинания, «ё» как «е»; числа не
    переводятся. Скорость – секунд звука в секунду.

    Коды выхода: 0 – всё сделано; 1 – модель не загрузилась, запись не распознана или отчёт не
    записан; 2 – неверные аргументы или манифест; 130 – Ctrl+C, 143 – SIGTERM.
    """
    request = EvaluateRequest(
        manifest=manifest,
        allow_empty=allow_empty,
        variants=variants,
        models=model or [defaults.DEFAULT_MODEL],
        model_dir=model_dir,
        recognition=Recognition(
            quantization=quantization,
            language=language,
            device=device,
            offline=offline,
            no_vad=no_vad,
            vad_dir=vad_dir,
            vad={
                "threshold": vad_threshold,
                "min_speech_ms": min_speech_ms,
                "max_speech_s": max_speech_s,
                "min_silence_ms": min_silence_ms,
                "speech_pad_ms": speech_pad_ms,
            },
        ),
        split_channels=not mono,
        batch_size=batch_size,
        threads=_threads(workers),
        cache=cache,
        quiet=quiet,
        output=output,
        embed_audio=embed_audio,
        group_by=group_by,
        rules=AskedRules(numbers == "match", fillers, glossary),
        given=given_parameters(ctx),
    )
    raise typer.Exit(_evaluate(request))


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluateRequest:
    """What a user asks of ``stt-ru evaluate``.

    Attributes:
        manifest: The recordings and their texts.
        allow_empty: Whether an empty reference is a recording without speech.
        variants: Whether references are read as marked ones.
        models: Values of ``-m``.
        model_dir: The files of the only model.
        recognition: How models of onnx-asr are to recognise.
        split_channels: Whether each channel is recognised by itself.
        batch_size: Stretches in one call of a model.
        threads: Recordings at a time; None for as many as suit the machine.
        cache: Folder of what was recognised before; None for none.
        quiet: Whether to show no progress.
        output: The report's file; None for none.
        embed_audio: Whether a page holds the recordings.
        group_by: The column whose values are independent; None for recordings.
        rules: Spelling rules to show WER under.
        given: Names of the parameters that the user gave.
    """

    manifest: Path
    allow_empty: bool
    variants: bool
    models: Sequence[str]
    model_dir: Path | None
    recognition: Recognition
    split_channels: bool
    batch_size: int
    threads: int | None
    cache: Path | None
    quiet: bool
    output: Path | None
    embed_audio: bool
    group_by: str | None
    rules: AskedRules
    given: Collection[str]


def _evaluate(request: EvaluateRequest) -> int:
    """Check what is asked for, run the models, print and save; the exit code."""
    from stt_ru.manifest import load_manifest
    from stt_ru.recognition.model_request import parse_models

    notices: list[str] = []  # said after the table, where they are seen
    samples = load_manifest(
        request.manifest,
        allow_empty=request.allow_empty,
        variants=request.variants,
        warn=notices.append,
    )
    models = parse_models(request.models, request.model_dir)
    _check(request, samples)

    # From here on the heavy libraries are loaded; a wrong request above has not paid for them.
    if request.recognition.offline:
        forbid_network()
    call_in_background(lambda: import_module("stt_ru.evaluation"))
    from stt_ru.evaluation import evaluate_models
    from stt_ru.streaming.run.sources import STREAMING_ENGINES

    settings = _settings(request, samples)
    check_models(models, STREAMING_ENGINES, request.recognition)
    notices += without_effect(models, STREAMING_ENGINES, request.given, _NOT_FOR_STREAMING)
    sources = _sources(request, models, settings)
    reporting = _reporting(request)
    reports, interrupted = run_models(
        lambda progress: evaluate_models(
            sources, samples, variants=request.variants, progress=progress
        ),
        expected=len(sources),
        keep=lambda reports: keep(reports, notices, reporting),
        quiet=request.quiet,
    )
    return finish(lambda: print_and_save(reports, notices, reporting), interrupted)


def _check(request: EvaluateRequest, samples: Sequence[Sample]) -> None:
    """Refuse what can be seen to be wrong before the heavy libraries are loaded."""
    from stt_ru.analysis.grouping import check_group_by
    from stt_ru.files.writing import check_folder

    check_output(request.output, [request.manifest], embed_audio=request.embed_audio)
    request.rules.check()
    if request.group_by is not None:
        check_group_by(request.group_by, (list(sample.extra) for sample in samples))
    if request.cache is not None:
        check_folder(request.cache, "--cache")
    request.recognition.check()


def _reporting(request: EvaluateRequest) -> Reporting:
    return Reporting(
        manifest=str(request.manifest),
        output=request.output,
        group_by=request.group_by,
        rules=request.rules,
        folder=recordings_folder(request.manifest),
        embed_audio=request.embed_audio,
    )


def _threads(text: str) -> int | None:
    if text.lower() == "auto":
        return None
    try:
        return whole_number(1)(text)
    except typer.BadParameter as error:
        raise UsageError(f"--workers: {error.message}") from error


def _settings(request: EvaluateRequest, samples: Sequence[Sample]) -> dict[str, Any]:
    """Arguments of `stt_ru.Transcriber`."""
    settings = request.recognition.settings()
    return settings | {
        "split_channels": request.split_channels,
        "batch_size": request.batch_size,
        "workers": request.threads or _workers_for(samples, settings["providers"]),
    }


def _workers_for(samples: Sequence[Sample], providers: Sequence[str]) -> int:
    """One recording a core; one at a time on an accelerator, which is itself parallel."""
    from stt_ru.recognition.transcriber import available_cores

    if providers[0] != "CPUExecutionProvider":
        return 1
    recordings = len({sample.path for sample in samples})
    return max(1, min(available_cores(), recordings))


def _sources(
    request: EvaluateRequest, models: Sequence[ModelRequest], settings: dict[str, Any]
) -> list[ModelSource]:
    from stt_ru.recognition.model_request import labels

    sources = [
        _source(model, label, settings, request.threads)
        for model, label in zip(models, labels(models), strict=True)
    ]
    if request.cache is None:
        return sources
    return [_cached(source, request.cache) for source in sources]


def _source(
    model: ModelRequest, label: str, settings: dict[str, Any], threads: int | None
) -> ModelSource:
    from stt_ru.evaluation import ModelSource
    from stt_ru.recognition.transcriber import Transcriber
    from stt_ru.recognition.user_modules import user_factory
    from stt_ru.streaming.run.sources import STREAMING_ENGINES, streaming_recognizer

    def transcriber() -> Recognizer:
        return Transcriber(model.name, model_dir=model.folder, **settings)

    def streaming() -> Recognizer:
        split_channels = settings["split_channels"]
        return streaming_recognizer(model.name, model.folder, split_channels=split_channels)

    if model.is_factory:
        return ModelSource(model.name, label, user_factory(model.name), concurrency=threads)
    is_streaming = model.name in STREAMING_ENGINES
    return ModelSource(model.name, label, streaming if is_streaming else transcriber)


def _cached(source: ModelSource, folder: Path) -> ModelSource:
    from stt_ru.recognition.cache import CachedRecognizer

    place = folder.absolute()  # a recogniser may change the current folder
    return replace(source, load=lambda: CachedRecognizer(source.load(), place))
