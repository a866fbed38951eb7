"""The command ``stt-ru evaluate``."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stt_ru.cli.interrupts import finishing
from stt_ru.cli.options import (
    DEFAULT_MODEL,
    DEVICE,
    LANGUAGE,
    MAX_SPEECH_S,
    MIN_SILENCE_MS,
    MIN_SPEECH_MS,
    MODEL,
    QUANTIZATION,
    SPEECH_PAD_MS,
    THRESHOLD,
    WORK,
    AllowEmpty,
    Device,
    EmbedAudio,
    Fillers,
    GlossaryFile,
    GroupBy,
    Language,
    MaxSpeechS,
    MinSilenceMs,
    MinSpeechMs,
    Mono,
    NoVad,
    Numbers,
    Offline,
    Output,
    Quantization,
    Quiet,
    SpeechPadMs,
    VadFolder,
    VadThreshold,
    Variants,
    argument,
    model_option,
    option,
)
from stt_ru.cli.output import (
    AskedRules,
    check_output,
    print_and_save,
    recordings_folder,
)
from stt_ru.cli.run_models import (
    check_models,
    check_vad,
    forbid_network,
    run_models,
    without_effect,
)
from stt_ru.cli.russian import whole_number
from stt_ru.errors import UsageError
from stt_ru.recognition.threads import call_in_background

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stt_ru.evaluation import ModelSource
    from stt_ru.manifest import Sample
    from stt_ru.recognition.model_request import ModelRequest


def evaluate(
    manifest: Annotated[
        Path,
        argument(
            "МАНИФЕСТ",
            "CSV или JSONL с полями audio, text и необязательным channel, или каталог, где рядом с "
            "каждой записью лежит её текст: call.wav и call.txt.",
        ),
    ],
    model: Annotated[
        list[str] | None,
        model_option(
            "Модель onnx-asr, tiny-ru (встроенная, демонстрационная), потоковая – tiny-ru-stream, "
            "sherpa-stream=КАТАЛОГ, vosk-stream=КАТАЛОГ – или МОДУЛЬ:ФУНКЦИЯ своего "
            f"распознавателя; можно повторять (по умолчанию {DEFAULT_MODEL}).",
        ),
    ] = None,
    output: Output = None,
    embed_audio: EmbedAudio = False,
    quiet: Quiet = False,
    quantization: Quantization = QUANTIZATION,
    model_dir: Annotated[
        Path | None,
        option("--model-dir", metavar="КАТАЛОГ", panel=MODEL, help="Файлы модели, если она одна."),
    ] = None,
    language: Language = LANGUAGE,
    device: Device = DEVICE,
    offline: Offline = False,
    workers: Annotated[
        str,
        option(
            "--workers",
            metavar="N|auto",
            panel=WORK,
            help="Сколько записей распознавать одновременно (по умолчанию auto – по числу ядер).",
        ),
    ] = "auto",
    batch_size: Annotated[
        int,
        option(
            "--batch-size",
            metavar="N",
            panel=WORK,
            parser=whole_number(1),
            help="Отрезков в одном вызове модели (по умолчанию 1: текст не зависит от соседей).",
        ),
    ] = 1,
    mono: Mono = False,
    no_vad: NoVad = False,
    vad_dir: VadFolder = None,
    vad_threshold: VadThreshold = THRESHOLD,
    min_speech_ms: MinSpeechMs = MIN_SPEECH_MS,
    max_speech_s: MaxSpeechS = MAX_SPEECH_S,
    min_silence_ms: MinSilenceMs = MIN_SILENCE_MS,
    speech_pad_ms: SpeechPadMs = SPEECH_PAD_MS,
    group_by: GroupBy = None,
    cache: Annotated[
        Path | None,
        option(
            "--cache",
            metavar="КАТАЛОГ",
            panel=WORK,
            help="Хранить распознанное здесь и не распознавать дважды: прерванный прогон "
            "продолжается, исправленный эталон стоит секунд.",
        ),
    ] = None,
    variants: Variants = False,
    numbers: Numbers = "as-is",
    fillers: Fillers = False,
    glossary: GlossaryFile = None,
    allow_empty: AllowEmpty = False,
) -> None:
    """Считает WER, CER и скорость моделей на ваших записях.

    Тексты сравниваются после нормализации: без регистра и знаков препинания, «ё» как «е»; числа не
    переводятся. Скорость – секунд звука в секунду.

    Коды выхода: 0 – всё сделано; 1 – модель не загрузилась, запись не распознана или отчёт не
    записан; 2 – неверные аргументы или манифест; 130 – Ctrl+C, 143 – SIGTERM.
    """
    from stt_ru.analysis.grouping import check_group_by
    from stt_ru.files.writing import check_folder
    from stt_ru.manifest import load_manifest
    from stt_ru.recognition.model_request import parse_models

    notices: list[str] = []  # said after the table, where they are seen
    threads = _workers(workers)
    samples = load_manifest(
        manifest, allow_empty=allow_empty, variants=variants, warn=notices.append
    )
    requests = parse_models(model or [DEFAULT_MODEL], model_dir)
    check_output(output, [manifest], embed_audio=embed_audio)
    rules = AskedRules(numbers == "match", fillers, glossary)
    rules.check()
    if group_by is not None:
        check_group_by(group_by, (list(sample.extra) for sample in samples))
    if cache is not None:
        check_folder(cache, "--cache")
    check_vad(no_vad=no_vad, vad_dir=vad_dir)

    # From here on the heavy libraries are loaded; a wrong request above has not paid for them.
    if offline:
        forbid_network()
    call_in_background(lambda: import_module("stt_ru.evaluation"))
    from stt_ru.evaluation import evaluate_models
    from stt_ru.recognition.onnx_models import providers_for
    from stt_ru.recognition.segmentation import VadOptions
    from stt_ru.streaming.run.sources import STREAMING_ENGINES

    vad = VadOptions(
        threshold=vad_threshold,
        min_speech_ms=min_speech_ms,
        max_speech_s=max_speech_s,
        min_silence_ms=min_silence_ms,
        speech_pad_ms=speech_pad_ms,
    )
    providers = providers_for(device)
    check_models(
        requests,
        STREAMING_ENGINES,
        language=language,
        max_speech_s=max_speech_s,
        vad_dir=vad_dir,
    )
    given = {
        "--quantization": quantization != QUANTIZATION,
        "--language": language != LANGUAGE,
        "--device": device != DEVICE,
        "--workers": threads is not None,
        "--batch-size": batch_size != 1,
        "--no-vad": no_vad,
        "--vad-dir": vad_dir is not None,
        "--vad-threshold": vad_threshold != THRESHOLD,
        "--min-speech-ms": min_speech_ms != MIN_SPEECH_MS,
        "--max-speech-s": max_speech_s != MAX_SPEECH_S,
        "--min-silence-ms": min_silence_ms != MIN_SILENCE_MS,
        "--speech-pad-ms": speech_pad_ms != SPEECH_PAD_MS,
    }
    notices += without_effect(requests, STREAMING_ENGINES, given)
    settings = {
        "quantization": quantization,
        "language": language,
        "providers": providers,
        "vad": None if no_vad else vad,
        "vad_dir": vad_dir,
        "split_channels": not mono,
        "batch_size": batch_size,
        "offline": offline,
        "workers": threads or _workers_for(samples, providers),
        "longest_s": max_speech_s,
    }
    sources = _sources(requests, settings, threads)
    if cache is not None:
        sources = [_cached(source, cache) for source in sources]
    folder = recordings_folder(manifest)
    reports, interrupted = run_models(
        lambda progress: evaluate_models(sources, samples, variants=variants, progress=progress),
        quiet=quiet,
    )
    with finishing() as late:
        code = print_and_save(
            reports,
            notices,
            manifest=str(manifest),
            output=output,
            group_by=group_by,
            rules=rules,
            folder=folder,
            embed_audio=embed_audio,
        )
    if interrupted is not None:
        code = interrupted.exit_code
    raise typer.Exit(late.exit_code or code)


def _workers(text: str) -> int | None:
    if text.lower() == "auto":
        return None
    try:
        return whole_number(1)(text)
    except typer.BadParameter as error:
        raise UsageError(f"--workers: {error.message}") from error


def _workers_for(samples: Sequence[Sample], providers: Sequence[str]) -> int:
    """One recording a core; one at a time on an accelerator, which is itself parallel."""
    from stt_ru.recognition.transcriber import available_cores

    if providers[0] != "CPUExecutionProvider":
        return 1
    recordings = len({sample.path for sample in samples})
    return max(1, min(available_cores(), recordings))


def _sources(
    requests: Sequence[ModelRequest], settings: dict[str, Any], threads: int | None
) -> list[ModelSource]:
    from stt_ru.evaluation import ModelSource
    from stt_ru.recognition.model_request import labels
    from stt_ru.recognition.transcriber import Recognizer, Transcriber
    from stt_ru.recognition.user_modules import user_factory
    from stt_ru.streaming.run.sources import STREAMING_ENGINES, streaming_recognizer

    def transcriber(request: ModelRequest) -> Recognizer:
        return Transcriber(request.name, model_dir=request.folder, **settings)

    def streaming(request: ModelRequest) -> Recognizer:
        return streaming_recognizer(
            request.name, request.folder, split_channels=settings["split_channels"]
        )

    sources = []
    for request, label in zip(requests, labels(requests), strict=True):
        if request.is_factory:
            factory = user_factory(request.name)
            sources.append(ModelSource(request.name, label, factory, concurrency=threads))
            continue
        load = partial(transcriber, request)
        if request.name in STREAMING_ENGINES:
            load = partial(streaming, request)
        sources.append(ModelSource(request.name, label, load))
    return sources


def _cached(source: ModelSource, folder: Path) -> ModelSource:
    from stt_ru.recognition.cache import CachedRecognizer

    place = folder.absolute()  # a recogniser may change the current folder
    return replace(source, load=lambda: CachedRecognizer(source.load(), place))
