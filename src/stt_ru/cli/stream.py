"""The command ``stt-ru stream``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from stt_ru import defaults
from stt_ru.cli import options
from stt_ru.cli.output import (
    check_installed,
    check_output,
    keep_report,
    print_notes,
    save_report,
    succeeds,
)
from stt_ru.cli.parsing import given_parameters
from stt_ru.cli.recording_files import RecordingKeeper
from stt_ru.cli.run_models import (
    Recognition,
    check_models,
    finish,
    forbid_network,
    run_models,
    without_effect,
)
from stt_ru.cli.stdio import print_answer, print_message
from stt_ru.errors import UsageError

if TYPE_CHECKING:
    from stt_ru.manifest import Sample
    from stt_ru.recognition.model_request import ModelRequest
    from stt_ru.streaming.run.results import StreamOptions, StreamReport
    from stt_ru.streaming.run.sources import StreamSource
    from stt_ru.streaming.timing.reference_words import ReferenceWords

_SENDING = "Отправка"
_TRUTH = "Время слов эталона"


# Parameters that models which stream by themselves do not heed.
_NOT_FOR_STREAMING: Final = ("step", "quantization", "language", "device", "no_vad", "vad_dir")


def stream(
    ctx: typer.Context,
    manifest: Annotated[
        Path,
        options.argument(
            "МАНИФЕСТ",
            "CSV или JSONL с полями audio, text и необязательными channel и words, или каталог с "
            "записями и их текстами.",
        ),
    ],
    model: Annotated[
        list[str] | None,
        options.model_option(
            "Потоковая модель: tiny-ru-stream, sherpa-stream=КАТАЛОГ, vosk-stream=КАТАЛОГ; или "
            "модель onnx-asr, которая заново распознаёт накопленное каждые --step секунд; или "
            "МОДУЛЬ:ФУНКЦИЯ. Можно повторять (по умолчанию "
            f"{defaults.EMBEDDED_MODEL}, встроенная, демонстрационная).",
        ),
    ] = None,
    output: Annotated[Path | None, options.output_option("Подробный отчёт.", "ФАЙЛ.json")] = None,
    quiet: options.Quiet = False,
    interval: Annotated[
        float,
        options.positive_option(
            "--interval",
            metavar="С",
            panel=_SENDING,
            help="Через сколько секунд отправлять куски звука",
            default=defaults.INTERVAL_S,
        ),
    ] = defaults.INTERVAL_S,
    speed: Annotated[
        float,
        options.positive_option(
            "--speed",
            metavar="X",
            panel=_SENDING,
            help="Во сколько раз речь быстрее настоящей",
            default=defaults.SPEED,
        ),
    ] = defaults.SPEED,
    realtime: Annotated[
        bool | None,
        options.option(
            "--realtime/--remap",
            panel=_SENDING,
            help="Отправлять в реальном времени, или сразу с пересчётом времён – быстрее, с теми "
            "же цифрами (по умолчанию, если модель не заводит своих потоков).",
        ),
    ] = None,
    streams: Annotated[
        int,
        options.count_option(
            "--streams",
            panel=_SENDING,
            help="Отправлять N записей одновременно в реальном времени, рядом с одной: как "
            "задержка растёт с нагрузкой.",
        ),
    ] = 1,
    step: Annotated[
        float,
        options.positive_option(
            "--step",
            metavar="С",
            panel=options.MODEL,
            help="Через сколько секунд звука непотоковая модель распознаёт заново",
            default=defaults.STEP_S,
        ),
    ] = defaults.STEP_S,
    timeout: Annotated[
        float,
        options.positive_option(
            "--timeout",
            metavar="С",
            panel=options.WORK,
            help="Сколько секунд ждать модель, которая молчит, прежде чем перейти к следующей "
            "записи",
            default=defaults.TIMEOUT_S,
        ),
    ] = defaults.TIMEOUT_S,
    history: Annotated[
        Path | None,
        options.folder_option(
            "--history",
            panel=options.WORK,
            help="Сохранить, что и когда отправлено и получено: по файлу JSON на запись.",
        ),
    ] = None,
    plots: Annotated[
        Path | None,
        options.folder_option(
            "--plots",
            panel=options.WORK,
            help="Нарисовать каждую запись и сводку по моделям (PNG).",
        ),
    ] = None,
    timings: Annotated[
        Path | None,
        options.option(
            "--timings",
            metavar="ФАЙЛ.ctm|КАТАЛОГ",
            panel=_TRUTH,
            help="Время слов: файл CTM или каталог с файлами TextGrid. Без него – поле words "
            "манифеста, а где его нет, выравнивание моделью --aligner.",
        ),
    ] = None,
    save_timings: Annotated[
        Path | None,
        options.option(
            "--save-timings",
            metavar="ФАЙЛ.jsonl",
            panel=_TRUTH,
            help="Записать найденное время слов как манифест с полем words.",
        ),
    ] = None,
    aligner: Annotated[
        str,
        options.option(
            "--aligner",
            metavar="ИМЯ[=КАТАЛОГ]",
            panel=_TRUTH,
            help="CTC-модель, которая находит время слов",
            default=defaults.EMBEDDED_MODEL,
        ),
    ] = defaults.EMBEDDED_MODEL,
    no_offline: Annotated[
        bool,
        options.option(
            "--no-offline",
            panel=options.WORK,
            help="Не распознавать записи ещё раз целиком: ΔWER не будет.",
        ),
    ] = False,
    quantization: options.Quantization = defaults.QUANTIZATION,
    language: options.Language = defaults.LANGUAGE,
    device: options.Device = defaults.DEVICE,
    no_vad: options.NoVad = False,
    vad_dir: options.VadFolder = None,
    offline: options.Offline = False,
    allow_empty: options.AllowEmpty = False,
) -> None:
    """Измеряет, как поздно, устойчиво и верно появляются слова, пока звучит запись.

    Каждая запись отправляется модели кусками, как с микрофона; всё, что модель показала по пути,
    сравнивается с тем, что к этому времени было сказано. ΔWER – против той же модели на целой
    записи; «Первый показ» – от конца слова до момента, когда оно впервые показано верно,
    «Стабилизация» – до момента, после которого оно верно до конца, секунды; «Правок» – сколько
    слов показано и потом изменено, на слово последнего текста; «RTF» – секунд работы на секунду
    звука.

    Коды выхода: 0 – всё сделано; 1 – модель не загрузилась, запись не распознана или отчёт не
    записан; 2 – неверные аргументы или манифест; 130 – Ctrl+C, 143 – SIGTERM.
    """
    request = StreamRequest(
        manifest=manifest,
        allow_empty=allow_empty,
        models=model or [defaults.EMBEDDED_MODEL],
        recognition=Recognition(
            quantization=quantization,
            language=language,
            device=device,
            offline=offline,
            no_vad=no_vad,
            vad_dir=vad_dir,
        ),
        step_s=step,
        interval_s=interval,
        speed=speed,
        realtime=realtime,
        streams=streams,
        timeout_s=timeout,
        with_offline=not no_offline,
        timings=timings,
        aligner=aligner,
        quiet=quiet,
        output=output,
        history=history,
        plots=plots,
        save_timings=save_timings,
        given=given_parameters(ctx),
    )
    raise typer.Exit(_stream(request))


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamRequest:
    """What a user asks of ``stt-ru stream``.

    Attributes:
        manifest: The recordings and their texts.
        allow_empty: Whether an empty reference is a recording without speech.
        models: Values of ``-m``.
        recognition: How models of onnx-asr are to recognise.
        step_s: Seconds of audio between two recognitions of a model that does not stream.
        interval_s: As in `StreamOptions`.
        speed: As in `StreamOptions`.
        realtime: As in `StreamOptions`.
        streams: Recordings at a time in the second measurement; 1 for one measurement.
        timeout_s: As in `StreamOptions`.
        with_offline: Whether recordings are recognised whole too.
        timings: Times of words, a file or a folder; None for the manifest's.
        aligner: What finds them where there are none, as after ``-m``.
        quiet: Whether to show no progress.
        output: The report's file; None for none.
        history: Folder of what was sent and received; None for none.
        plots: Folder of the pictures; None for none.
        save_timings: The file for the times of words; None for none.
        given: Names of the parameters that the user gave.
    """

    manifest: Path
    allow_empty: bool
    models: Sequence[str]
    recognition: Recognition
    step_s: float
    interval_s: float
    speed: float
    realtime: bool | None
    streams: int
    timeout_s: float
    with_offline: bool
    timings: Path | None
    aligner: str
    quiet: bool
    output: Path | None
    history: Path | None
    plots: Path | None
    save_timings: Path | None
    given: Collection[str]


def _stream(request: StreamRequest) -> int:
    """Check what is asked for, run the models, print and save; the exit code."""
    from stt_ru.manifest import load_manifest
    from stt_ru.recognition.model_request import parse_model, parse_models

    notices: list[str] = []  # said after the table, where they are seen
    samples = load_manifest(request.manifest, allow_empty=request.allow_empty, warn=notices.append)
    models = parse_models(request.models, None)
    aligner = parse_model(request.aligner, "--aligner")
    _check(request)

    # From here on the heavy libraries are loaded; a wrong request above has not paid for them.
    if request.recognition.offline:
        forbid_network()
    from stt_ru.streaming.run.loop import evaluate_streams
    from stt_ru.streaming.run.sources import STREAMING_MODELS

    settings = request.recognition.settings()
    check_models(models, STREAMING_MODELS, request.recognition)
    notices += without_effect(models, STREAMING_MODELS, request.given, _NOT_FOR_STREAMING)
    sources = _sources(models, settings, request.step_s)
    truth = _truth(request, samples, aligner)
    keeper = RecordingKeeper(samples, request.history, request.plots)
    reports, interrupted = run_models(
        lambda progress: evaluate_streams(
            sources,
            samples,
            truth,
            _levels(request),
            with_offline=request.with_offline,
            progress=progress,
            on_result=keeper if keeper.is_needed else None,
        ),
        expected=len(sources) * len(_levels(request)),
        keep=lambda reports: _keep(request, reports, notices),
        quiet=request.quiet,
    )

    def save() -> int:
        code = _print_and_save(request, reports, notices)
        is_drawn = succeeds(lambda: keeper.finish(reports))
        are_saved = succeeds(lambda: _save_timings(request.save_timings, samples, truth))
        return code if is_drawn and are_saved else 1

    return finish(save, interrupted)


def _check(request: StreamRequest) -> None:
    """Refuse what can be seen to be wrong before the heavy libraries are loaded."""
    from stt_ru.files.writing import check_folder

    inputs, timings = [request.manifest], request.timings
    check_output(request.output, inputs, suffixes=(".json",))
    check_output(request.save_timings, inputs, suffixes=(".jsonl",), what="--save-timings")
    if timings is not None and not timings.exists():
        raise UsageError(f"--timings {timings}: нет такого файла или каталога")
    request.recognition.check()
    if request.streams > 1 and request.realtime is False:
        raise UsageError("--streams отправляет записи в реальном времени: уберите --remap")
    if request.plots is not None:
        check_installed("matplotlib", "--plots", "plots")
    for name, folder in (("--history", request.history), ("--plots", request.plots)):
        if folder is not None:
            check_folder(folder, name)


def _sources(
    requests: Sequence[ModelRequest], settings: dict[str, Any], step_s: float
) -> list[StreamSource]:
    from stt_ru.recognition.model_request import labels
    from stt_ru.recognition.user_modules import user_factory
    from stt_ru.streaming.run.sources import factory_source, stream_source

    sources = []
    for request, label in zip(requests, labels(requests), strict=True):
        if request.is_factory:
            factory: Callable[[], Any] = user_factory(request.name)
            sources.append(factory_source(request.name, label, factory, step_s=step_s))
            continue
        sources.append(
            stream_source(request.name, request.folder, label, step_s=step_s, settings=settings)
        )
    return sources


def _truth(
    request: StreamRequest, samples: Sequence[Sample], aligner: ModelRequest
) -> ReferenceWords:
    from stt_ru.recognition.onnx_models import check_model_name
    from stt_ru.streaming.timing.ctc import load_ctc_model
    from stt_ru.streaming.timing.reference_words import ReferenceWords

    check_model_name(aligner.name, has_folder=aligner.folder is not None)
    folder = aligner.folder and aligner.folder.absolute()  # loaded when it is needed first
    load = partial(load_ctc_model, aligner.name, folder, offline=request.recognition.offline)
    return ReferenceWords(samples, load, request.timings, aligner=aligner.name)


def _levels(request: StreamRequest) -> list[StreamOptions]:
    """One recording at a time, and beside it as many as were asked for."""
    from stt_ru.streaming.run.results import StreamOptions

    one = StreamOptions(
        interval_s=request.interval_s,
        speed=request.speed,
        realtime=request.realtime,
        timeout_s=request.timeout_s,
    )
    if request.streams == 1:
        return [one]
    return [one, replace(one, realtime=True, streams=request.streams)]


def _print_and_save(
    request: StreamRequest, reports: Sequence[StreamReport], notices: Sequence[str]
) -> int:
    from stt_ru.streaming.run.report import (
        format_stream_table,
        stream_notes,
        stream_remarks,
    )

    code = 1 if any(report.failed for report in reports) else 0
    if reports and not succeeds(lambda: print_answer(format_stream_table(reports))):
        code = 1
    for remark in stream_remarks(reports):
        print_message(remark)
    print_notes(notices, stream_notes(reports))
    if request.output is None or not reports:
        return code
    return code if save_report(request.output, lambda: _json(request, reports, notices)) else 1


def _keep(request: StreamRequest, reports: Sequence[StreamReport], notices: Sequence[str]) -> None:
    """Save the models that are complete while others are still to come."""
    if request.output is not None:
        keep_report(request.output, lambda: _json(request, reports, notices))


def _json(
    request: StreamRequest, reports: Sequence[StreamReport], notices: Sequence[str]
) -> Iterator[str]:
    from stt_ru.streaming.run.report import stream_json

    return stream_json(
        reports,
        manifest=str(request.manifest),
        created_at=datetime.now().astimezone(),
        warnings=notices,
    )


def _save_timings(target: Path | None, samples: Sequence[Sample], truth: ReferenceWords) -> None:
    if target is None:
        return
    from stt_ru.streaming.timing.files import save_timings

    known = truth.known()
    save_timings(target, [(samples[row], known[row]) for row in sorted(known)])
    print_message(f"Время слов: {target}")
