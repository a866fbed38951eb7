"""The command ``stt-ru stream``."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from stt_ru.cli.interrupts import finishing
from stt_ru.cli.options import (
    DEVICE,
    LANGUAGE,
    MODEL,
    QUANTIZATION,
    REPORT,
    WORK,
    AllowEmpty,
    Device,
    Language,
    NoVad,
    Offline,
    Quantization,
    Quiet,
    VadFolder,
    argument,
    model_option,
    option,
)
from stt_ru.cli.output import (
    check_installed,
    check_output,
    print_notes,
    save_report,
    succeeds,
)
from stt_ru.cli.run_models import (
    check_models,
    check_vad,
    forbid_network,
    run_models,
    without_effect,
)
from stt_ru.cli.russian import number, whole_number
from stt_ru.cli.stdio import print_answer, print_message
from stt_ru.errors import ReportError, UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from stt_ru.manifest import Sample
    from stt_ru.recognition.model_request import ModelRequest
    from stt_ru.streaming.run.history import History
    from stt_ru.streaming.run.results import StreamOptions, StreamReport
    from stt_ru.streaming.run.sources import StreamSource
    from stt_ru.streaming.timing.reference_words import TrueWords

# Written here as well as in the library, whose modules are heavy; a test keeps them equal.
DEFAULT_MODEL: Final = "tiny-ru"
INTERVAL_S: Final = 0.2
STEP_S: Final = 0.5
TIMEOUT_S: Final = 60.0

_SENDING = "Отправка"
_TRUTH = "Время слов эталона"


def stream(
    manifest: Annotated[
        Path,
        argument(
            "МАНИФЕСТ",
            "CSV или JSONL с полями audio, text и необязательными channel и words, или каталог с "
            "записями и их текстами.",
        ),
    ],
    model: Annotated[
        list[str] | None,
        model_option(
            "Потоковая модель: tiny-ru-stream, sherpa-stream=КАТАЛОГ, vosk-stream=КАТАЛОГ; или "
            "модель onnx-asr, которая заново распознаёт накопленное каждые --step секунд; или "
            "МОДУЛЬ:ФУНКЦИЯ. Можно повторять (по умолчанию "
            f"{DEFAULT_MODEL}, встроенная, демонстрационная).",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        option("-o", "--output", metavar="ФАЙЛ.json", panel=REPORT, help="Подробный отчёт."),
    ] = None,
    quiet: Quiet = False,
    interval: Annotated[
        float,
        option(
            "--interval",
            metavar="С",
            panel=_SENDING,
            parser=number(0, exclusive=True),
            help=f"Через сколько секунд отправлять куски звука (по умолчанию {INTERVAL_S:g}).",
        ),
    ] = INTERVAL_S,
    speed: Annotated[
        float,
        option(
            "--speed",
            metavar="X",
            panel=_SENDING,
            parser=number(0, exclusive=True),
            help="Во сколько раз речь быстрее настоящей (по умолчанию 1).",
        ),
    ] = 1.0,
    realtime: Annotated[
        bool | None,
        option(
            "--realtime/--remap",
            panel=_SENDING,
            help="Отправлять в реальном времени, или сразу с пересчётом времён – быстрее, с теми "
            "же цифрами (по умолчанию, если модель не заводит своих потоков).",
        ),
    ] = None,
    streams: Annotated[
        int,
        option(
            "--streams",
            metavar="N",
            panel=_SENDING,
            parser=whole_number(1),
            help="Отправлять N записей одновременно в реальном времени, рядом с одной: как "
            "задержка растёт с нагрузкой.",
        ),
    ] = 1,
    step: Annotated[
        float,
        option(
            "--step",
            metavar="С",
            panel=MODEL,
            parser=number(0, exclusive=True),
            help="Через сколько секунд звука непотоковая модель распознаёт заново (по умолчанию "
            f"{STEP_S:g}).",
        ),
    ] = STEP_S,
    timeout: Annotated[
        float,
        option(
            "--timeout",
            metavar="С",
            panel=WORK,
            parser=number(0, exclusive=True),
            help="Сколько секунд ждать модель, которая молчит, прежде чем перейти к следующей "
            f"записи (по умолчанию {TIMEOUT_S:g}).",
        ),
    ] = TIMEOUT_S,
    history: Annotated[
        Path | None,
        option(
            "--history",
            metavar="КАТАЛОГ",
            panel=WORK,
            help="Сохранить, что и когда отправлено и получено: по файлу JSON на запись.",
        ),
    ] = None,
    plots: Annotated[
        Path | None,
        option(
            "--plots",
            metavar="КАТАЛОГ",
            panel=WORK,
            help="Нарисовать каждую запись и сводку по моделям (PNG).",
        ),
    ] = None,
    timings: Annotated[
        Path | None,
        option(
            "--timings",
            metavar="ФАЙЛ.ctm|КАТАЛОГ",
            panel=_TRUTH,
            help="Время слов: файл CTM или каталог с файлами TextGrid. Без него – поле words "
            "манифеста, а где его нет, выравнивание моделью --aligner.",
        ),
    ] = None,
    save_timings: Annotated[
        Path | None,
        option(
            "--save-timings",
            metavar="ФАЙЛ.jsonl",
            panel=_TRUTH,
            help="Записать найденное время слов как манифест с полем words.",
        ),
    ] = None,
    aligner: Annotated[
        str,
        option(
            "--aligner",
            metavar="ИМЯ[=КАТАЛОГ]",
            panel=_TRUTH,
            help=f"CTC-модель, которая находит время слов (по умолчанию {DEFAULT_MODEL}).",
        ),
    ] = DEFAULT_MODEL,
    no_offline: Annotated[
        bool,
        option(
            "--no-offline",
            panel=WORK,
            help="Не распознавать записи ещё раз целиком: ΔWER не будет.",
        ),
    ] = False,
    quantization: Quantization = QUANTIZATION,
    language: Language = LANGUAGE,
    device: Device = DEVICE,
    no_vad: NoVad = False,
    vad_dir: VadFolder = None,
    offline: Offline = False,
    allow_empty: AllowEmpty = False,
) -> None:
    """Меряет, как поздно, устойчиво и верно появляются слова, пока звучит запись.

    Каждая запись отправляется модели кусками, как с микрофона; всё, что модель показала по пути,
    сравнивается с тем, что к этому времени было сказано. ΔWER – против той же модели на целой
    записи; «Слово» – от конца слова до первого верного появления, «Финал» – до момента, после
    которого оно верно до конца, секунды; «Правок» – сколько слов показано и потом изменено, на
    слово итога; «Счёт» – секунд работы на секунду звука.

    Коды выхода: 0 – всё сделано; 1 – модель не загрузилась, запись не распознана или отчёт не
    записан; 2 – неверные аргументы или манифест; 130 – Ctrl+C, 143 – SIGTERM.
    """
    from stt_ru.files.writing import check_folder
    from stt_ru.manifest import load_manifest
    from stt_ru.recognition.model_request import parse_model, parse_models

    notices: list[str] = []  # said after the table, where they are seen
    samples = load_manifest(manifest, allow_empty=allow_empty, warn=notices.append)
    requests = parse_models(model or [DEFAULT_MODEL], None)
    aligner_request = parse_model(aligner, "--aligner")
    check_output(output, [manifest], suffixes=(".json",))
    check_output(save_timings, [manifest], suffixes=(".jsonl",), what="--save-timings")
    if timings is not None and not timings.exists():
        raise UsageError(f"--timings {timings}: нет такого файла или каталога")
    check_vad(no_vad=no_vad, vad_dir=vad_dir)
    if streams > 1 and realtime is False:
        raise UsageError("--streams отправляет записи в реальном времени: уберите --remap")
    if plots is not None:
        check_installed("matplotlib", "--plots", "plots")
    for name, folder in (("--history", history), ("--plots", plots)):
        if folder is not None:
            check_folder(folder, name)

    # From here on the heavy libraries are loaded; a wrong request above has not paid for them.
    if offline:
        forbid_network()
    from stt_ru.recognition.onnx_models import providers_for
    from stt_ru.recognition.segmentation import VadOptions
    from stt_ru.streaming.run.sources import STREAMING_MODELS

    vad = VadOptions()
    providers = providers_for(device)
    check_models(
        requests,
        STREAMING_MODELS,
        language=language,
        max_speech_s=vad.max_speech_s,
        vad_dir=vad_dir,
    )
    given = {
        "--step": step != STEP_S,
        "--quantization": quantization != QUANTIZATION,
        "--language": language != LANGUAGE,
        "--device": device != DEVICE,
        "--no-vad": no_vad,
        "--vad-dir": vad_dir is not None,
    }
    notices += without_effect(requests, STREAMING_MODELS, given)
    settings = {
        "quantization": quantization,
        "language": language,
        "providers": providers,
        "vad": None if no_vad else vad,
        "vad_dir": vad_dir,
        "offline": offline,
    }
    sources = _sources(requests, settings, step)
    truth = _truth(samples, aligner_request, timings, offline=offline)
    levels = _levels(interval, speed, realtime, streams, timeout)
    keeper = _Keeper(samples, history, plots)
    from stt_ru.streaming.run.loop import evaluate_streams

    reports, interrupted = run_models(
        lambda progress: evaluate_streams(
            sources,
            samples,
            truth,
            levels,
            with_offline=not no_offline,
            progress=progress,
            on_result=keeper if keeper.is_needed else None,
        ),
        quiet=quiet,
    )
    with finishing() as late:
        code = _print_and_save(reports, notices, manifest, output)
        if not succeeds(lambda: keeper.finish(reports)):
            code = 1
        if save_timings is not None and not succeeds(
            lambda: _save_timings(save_timings, samples, truth)
        ):
            code = 1
    if interrupted is not None:
        code = interrupted.exit_code
    raise typer.Exit(late.exit_code or code)


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
    samples: Sequence[Sample], request: ModelRequest, timings: Path | None, *, offline: bool
) -> TrueWords:
    from stt_ru.recognition.onnx_models import check_model_name
    from stt_ru.streaming.timing.ctc import load_ctc_model
    from stt_ru.streaming.timing.reference_words import TrueWords

    check_model_name(request.name, has_folder=request.folder is not None)
    folder = request.folder and request.folder.absolute()  # loaded when it is needed first
    load = partial(load_ctc_model, request.name, folder, offline=offline)
    return TrueWords(samples, load, timings, aligner=request.name)


def _levels(
    interval_s: float, speed: float, realtime: bool | None, streams: int, timeout_s: float
) -> list[StreamOptions]:
    from stt_ru.streaming.run.results import StreamOptions

    def level(streams: int, *, realtime: bool | None) -> StreamOptions:
        return StreamOptions(
            interval_s=interval_s,
            speed=speed,
            realtime=realtime,
            streams=streams,
            timeout_s=timeout_s,
        )

    if streams == 1:
        return [level(1, realtime=realtime)]
    return [level(1, realtime=realtime), level(streams, realtime=True)]


class _Keeper:
    """Writes the history and the picture of each recording as soon as it is done."""

    def __init__(self, samples: Sequence[Sample], history: Path | None, plots: Path | None) -> None:
        self._samples = samples
        # A recogniser may change the current folder.
        self._history = history and history.absolute()
        self._plots = plots and plots.absolute()
        self._names: dict[str, str] = {}  # of each model's folder, by its label

    @property
    def is_needed(self) -> bool:
        return self._history is not None or self._plots is not None

    def __call__(
        self, row: int, label: str, history: History, waveform: NDArray[np.float32]
    ) -> None:
        sample = self._samples[row]
        channel = "" if sample.channel is None else f".{sample.channel}"
        name = f"{row + 1:04d}-{_file_name(sample.path.stem)}{channel}"
        if self._history is not None:
            from stt_ru.streaming.run.history import save_history

            save_history(history, self._folder(self._history, label) / f"{name}.json")
        if self._plots is not None:
            from stt_ru.streaming.run.plots import save_recording_plot

            file = self._folder(self._plots, label) / f"{name}.png"
            save_recording_plot(history.evaluate(waveform), file, title=f"{label}: {sample.audio}")

    def _folder(self, parent: Path, label: str) -> Path:
        """The folder of a model, made; no two models have one, however alike their labels are.

        Raises:
            ReportError: If it cannot be made.
        """
        from stt_ru.files.writing import reason

        if label not in self._names:
            taken = {name.casefold() for name in self._names.values()}
            wanted = _file_name(label)
            names = itertools.chain([wanted], (f"{wanted}-{n}" for n in itertools.count(2)))
            self._names[label] = next(name for name in names if name.casefold() not in taken)
        folder = parent / self._names[label]
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise ReportError(f"каталог {folder} не создан: {reason(error)}") from error
        return folder

    def finish(self, reports: Sequence[StreamReport]) -> None:
        """Draw all models together."""
        if self._plots is None or not reports:
            return
        from stt_ru.streaming.run.plots import save_summary_plot

        save_summary_plot(reports, self._plots / "summary.png")


def _file_name(text: str) -> str:
    return re.sub(r"[^\w.\-]+", "_", text).strip("_")[:80] or "_"


def _print_and_save(
    reports: Sequence[StreamReport], notices: Sequence[str], manifest: Path, output: Path | None
) -> int:
    from stt_ru.streaming.run.report import (
        format_stream_table,
        stream_json,
        stream_notes,
        stream_remarks,
    )

    code = 1 if any(report.failed for report in reports) else 0
    if reports and not succeeds(lambda: print_answer(format_stream_table(reports))):
        code = 1
    for remark in stream_remarks(reports):
        print_message(remark)
    print_notes(notices, stream_notes(reports))
    if output is None or not reports:
        return code
    pieces = stream_json(
        reports,
        manifest=str(manifest),
        created_at=datetime.now().astimezone(),
        warnings=notices,
    )
    return code if save_report(output, lambda: pieces) else 1


def _save_timings(target: Path, samples: Sequence[Sample], truth: TrueWords) -> None:
    from stt_ru.streaming.timing.files import save_timings

    known = truth.known()
    save_timings(target, [(samples[row], known[row]) for row in sorted(known)])
    print_message(f"Время слов: {target}")
