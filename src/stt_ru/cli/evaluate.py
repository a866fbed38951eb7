"""The command ``stt-ru evaluate``."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from stt_ru.background import call_in_background
from stt_ru.cli.interrupts import Interrupted, finishing
from stt_ru.cli.outcome import AskedRules, check_output, print_and_save
from stt_ru.cli.russian import number, one_of, whole_number
from stt_ru.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stt_ru.cli.models import ModelRequest
    from stt_ru.evaluation import ModelSource
    from stt_ru.manifest import Sample
    from stt_ru.results import ModelReport

# Written here as well as in the library, whose modules are heavy; a test keeps them equal.
DEFAULT_MODEL: Final = "gigaam-v3-e2e-rnnt"
THRESHOLD: Final = 0.5
MIN_SPEECH_MS: Final = 250.0
MAX_SPEECH_S: Final = 20.0
MIN_SILENCE_MS: Final = 100.0
SPEECH_PAD_MS: Final = 30.0

_MODEL = "Модель"
_AUDIO = "Звук и поиск речи"
_WORK = "Ход работы"
_TEXT = "Сравнение текстов"


def _option(*names: str, help: str, metavar: str | None = None, panel: str, **more: Any) -> Any:
    return typer.Option(
        *names, help=help, metavar=metavar, show_default=False, rich_help_panel=panel, **more
    )


def evaluate(
    manifest: Annotated[
        Path,
        typer.Argument(
            metavar="РАЗМЕТКА",
            show_default=False,
            help="CSV или JSONL с полями audio, text и необязательным channel, или каталог, где "
            "рядом с каждой записью лежит её текст: call.wav и call.txt.",
        ),
    ],
    model: Annotated[
        list[str] | None,
        _option(
            "-m",
            "--model",
            metavar="ИМЯ[=КАТАЛОГ]",
            panel=_MODEL,
            help="Модель onnx-asr, tiny-ru (встроенная, демонстрационная) или МОДУЛЬ:ФУНКЦИЯ "
            f"своего распознавателя; можно повторять (по умолчанию {DEFAULT_MODEL}).",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        _option(
            "-o", "--output", metavar="ФАЙЛ", panel=_WORK, help="Отчёт .json, .html, .md, .csv."
        ),
    ] = None,
    embed_audio: Annotated[
        bool,
        _option("--embed-audio", panel=_WORK, help="Положить записи внутрь страницы .html."),
    ] = False,
    quiet: Annotated[
        bool,
        _option("-q", "--quiet", panel=_WORK, help="Не показывать ход работы (ошибки выводятся)."),
    ] = False,
    quantization: Annotated[
        str,
        _option(
            "--quantization",
            metavar="ТИП",
            panel=_MODEL,
            help="Веса модели: int8 (по умолчанию) или none – полные.",
        ),
    ] = "int8",
    model_dir: Annotated[
        Path | None,
        _option(
            "--model-dir", metavar="КАТАЛОГ", panel=_MODEL, help="Файлы модели, если она одна."
        ),
    ] = None,
    language: Annotated[
        str,
        _option(
            "--language",
            metavar="КОД",
            panel=_MODEL,
            help="Язык речи для многоязычных моделей (по умолчанию ru).",
        ),
    ] = "ru",
    device: Annotated[
        str,
        _option(
            "--device",
            metavar="УСТРОЙСТВО",
            panel=_MODEL,
            parser=one_of("auto", "cpu", "cuda", "coreml", "directml"),
            help="auto (по умолчанию), cpu, cuda, coreml, directml.",
        ),
    ] = "auto",
    offline: Annotated[
        bool, _option("--offline", panel=_MODEL, help="Не обращаться к сети.")
    ] = False,
    workers: Annotated[
        str,
        _option(
            "--workers",
            metavar="N|auto",
            panel=_WORK,
            help="Сколько записей распознавать одновременно (по умолчанию auto – по числу ядер).",
        ),
    ] = "auto",
    batch_size: Annotated[
        int,
        _option(
            "--batch-size",
            metavar="N",
            panel=_WORK,
            parser=whole_number(1),
            help="Отрезков в одном вызове модели (по умолчанию 1: текст не зависит от соседей).",
        ),
    ] = 1,
    mono: Annotated[bool, _option("--mono", panel=_AUDIO, help="Свести каналы в один.")] = False,
    no_vad: Annotated[
        bool,
        _option("--no-vad", panel=_AUDIO, help="Распознавать записи целиком, без поиска речи."),
    ] = False,
    vad_dir: Annotated[
        Path | None,
        _option("--vad-dir", metavar="КАТАЛОГ", panel=_AUDIO, help="Где лежит silero_vad.onnx."),
    ] = None,
    vad_threshold: Annotated[
        float,
        _option(
            "--vad-threshold",
            metavar="P",
            panel=_AUDIO,
            parser=number(0, 1, exclusive=True),
            help=f"Вероятность, с которой начинается речь (по умолчанию {THRESHOLD:g}).",
        ),
    ] = THRESHOLD,
    min_speech_ms: Annotated[
        float,
        _option(
            "--min-speech-ms",
            metavar="МС",
            panel=_AUDIO,
            parser=number(0),
            help=f"Отрезки короче отбрасываются (по умолчанию {MIN_SPEECH_MS:g}).",
        ),
    ] = MIN_SPEECH_MS,
    max_speech_s: Annotated[
        float,
        _option(
            "--max-speech-s",
            metavar="С",
            panel=_AUDIO,
            parser=number(1),
            help=f"Отрезки длиннее режутся в тихом месте (по умолчанию {MAX_SPEECH_S:g}).",
        ),
    ] = MAX_SPEECH_S,
    min_silence_ms: Annotated[
        float,
        _option(
            "--min-silence-ms",
            metavar="МС",
            panel=_AUDIO,
            parser=number(0),
            help=f"Пауза короче не разделяет отрезки (по умолчанию {MIN_SILENCE_MS:g}).",
        ),
    ] = MIN_SILENCE_MS,
    speech_pad_ms: Annotated[
        float,
        _option(
            "--speech-pad-ms",
            metavar="МС",
            panel=_AUDIO,
            parser=number(0),
            help=f"Запас по краям отрезка (по умолчанию {SPEECH_PAD_MS:g}).",
        ),
    ] = SPEECH_PAD_MS,
    group_by: Annotated[
        str | None,
        _option(
            "--group-by",
            metavar="КОЛОНКА",
            panel=_WORK,
            help="Строки с одним значением этой колонки разметки (звонок, диктор) зависят друг от "
            "друга: учесть это в интервале «95 %» и в сравнении моделей.",
        ),
    ] = None,
    cache: Annotated[
        Path | None,
        _option(
            "--cache",
            metavar="КАТАЛОГ",
            panel=_WORK,
            help="Хранить распознанное здесь и не распознавать дважды: прерванный прогон "
            "продолжается, исправленный эталон стоит секунд.",
        ),
    ] = None,
    numbers: Annotated[
        str,
        _option(
            "--numbers",
            metavar="as-is|match",
            panel=_TEXT,
            parser=one_of("as-is", "match"),
            help="match: показать WER и с числами, где «15» и «пятнадцать» – одно (по умолчанию "
            "as-is; WER таблицы не меняется).",
        ),
    ] = "as-is",
    fillers: Annotated[
        bool,
        _option(
            "--fillers",
            panel=_TEXT,
            help="Показать WER и без слов «ну», «э-э», «мм» в обоих текстах.",
        ),
    ] = False,
    glossary: Annotated[
        Path | None,
        _option(
            "--glossary",
            metavar="ФАЙЛ",
            panel=_TEXT,
            help="Показать WER и с равными формами: в строке «яндекс = yandex = янд екс».",
        ),
    ] = None,
    allow_empty: Annotated[
        bool,
        _option(
            "--allow-empty",
            panel=_AUDIO,
            help="Пустой эталон – запись без речи: всё распознанное в ней считается вставками.",
        ),
    ] = False,
) -> None:
    """Считает WER, CER и скорость моделей на ваших записях.

    Тексты сравниваются после нормализации: без регистра и знаков препинания, «ё» как «е»; числа не
    переводятся. Скорость – секунд звука в секунду.

    Коды выхода: 0 – всё сделано; 1 – модель не загрузилась, запись не распознана или отчёт не
    записан; 2 – неверные аргументы или разметка; 130 – Ctrl+C, 143 – SIGTERM.
    """
    from stt_ru.cli.models import parse_models
    from stt_ru.grouping import check_group_by
    from stt_ru.manifest import load_manifest

    notices: list[str] = []  # said after the table, where they are seen
    threads = _workers(workers)
    samples = load_manifest(manifest, allow_empty=allow_empty, warn=notices.append)
    requests = parse_models(model or [DEFAULT_MODEL], model_dir)
    check_output(output, [manifest])
    rules = AskedRules(numbers == "match", fillers, glossary)
    if glossary is not None:
        rules.rules()  # a broken one is said before any model is loaded
    if group_by is not None:
        check_group_by(group_by, (list(sample.extra) for sample in samples))
    if cache is not None:
        _check_cache(cache)
    if no_vad and vad_dir is not None:
        raise UsageError("--no-vad и --vad-dir вместе не имеют смысла: оставьте одно из двух")

    # From here on the heavy libraries are loaded; a wrong request above has not paid for them.
    if offline:
        _forbid_network()
    call_in_background(lambda: import_module("stt_ru.evaluation"))
    from stt_ru.onnx_models import check_model_name, providers_for
    from stt_ru.segmentation import VadOptions
    from stt_ru.transcriber import check_request, check_vad_folder

    vad = VadOptions(
        threshold=vad_threshold,
        min_speech_ms=min_speech_ms,
        max_speech_s=max_speech_s,
        min_silence_ms=min_silence_ms,
        speech_pad_ms=speech_pad_ms,
    )
    providers = providers_for(device)
    for request in requests:
        if not request.is_factory:
            check_model_name(request.name, has_folder=request.folder is not None)
            check_request(request.name, language, max_speech_s)
    if vad_dir is not None:
        check_vad_folder(vad_dir)
    settings = {
        "quantization": _quantization(quantization),
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
    folder = manifest if manifest.is_dir() else manifest.parent
    reports, interrupted = _run(sources, samples, quiet=quiet)
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


def _quantization(text: str) -> str | None:
    if not text.isalnum():  # it becomes a part of a file name
        raise UsageError(f"--quantization «{text}»: нужно int8, none или другое одно слово")
    return None if text.lower() == "none" else text


def _workers_for(samples: Sequence[Sample], providers: Sequence[str]) -> int:
    """One recording a core; one at a time on an accelerator, which is itself parallel."""
    from stt_ru.transcriber import available_cores

    if providers[0] != "CPUExecutionProvider":
        return 1
    recordings = len({sample.path for sample in samples})
    return max(1, min(available_cores(), recordings))


def _forbid_network() -> None:
    import os

    os.environ["HF_HUB_OFFLINE"] = "1"


def _sources(
    requests: Sequence[ModelRequest], settings: dict[str, Any], threads: int | None
) -> list[ModelSource]:
    from stt_ru.cli.models import labels, user_factory
    from stt_ru.evaluation import ModelSource
    from stt_ru.onnx_models import EMBEDDED_MODEL
    from stt_ru.transcriber import Recognizer, Transcriber

    def transcriber(request: ModelRequest) -> Recognizer:
        return Transcriber(request.name, model_dir=request.folder, **settings)

    sources = []
    for request, label in zip(requests, labels(requests), strict=True):
        if request.is_factory:
            factory = user_factory(request.name)
            sources.append(ModelSource(request.name, label, factory, concurrency=threads))
            continue
        if request.name == EMBEDDED_MODEL and request.folder is None:
            label = f"{EMBEDDED_MODEL} (демонстрационная)"
        sources.append(ModelSource(request.name, label, partial(transcriber, request)))
    return sources


def _check_cache(folder: Path) -> None:
    from stt_ru.report.files import check_folder

    check_folder(folder, "--cache")


def _cached(source: ModelSource, folder: Path) -> ModelSource:
    from stt_ru.cache import CachedRecognizer

    return replace(source, load=lambda: CachedRecognizer(source.load(), folder))


def _run(
    sources: Sequence[ModelSource],
    samples: Sequence[Sample],
    *,
    quiet: bool,
) -> tuple[list[ModelReport], Interrupted | None]:
    from stt_ru.cli.progress import progress_view
    from stt_ru.evaluation import evaluate_models

    reports: list[ModelReport] = []
    try:
        # Stdout is the table's: what a recogniser of the user's prints goes where messages go.
        with progress_view(quiet=quiet) as progress, redirect_stdout(sys.stderr):
            for report in evaluate_models(sources, samples, progress=progress):
                reports.append(report)
    except Interrupted as interruption:
        return reports, interruption
    return reports, None
