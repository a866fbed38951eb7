"""The command ``stt-ru serve``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, cast

from stt_ru import defaults
from stt_ru.cli import options
from stt_ru.cli.output import print_warning
from stt_ru.cli.parsing import split_names
from stt_ru.cli.russian import whole_number
from stt_ru.cli.stdio import print_message

if TYPE_CHECKING:
    from stt_ru.simultaneous.core.dataset import Dataset
    from stt_ru.simultaneous.core.record import LatencyUnit
    from stt_ru.simultaneous.core.segments import DataType

HOST: Final = "127.0.0.1"

_SERVER = "Сервер"


def serve(
    manifest: options.SpeechOrTexts = None,
    source: options.SourceFile = None,
    target: options.TargetFile = None,
    source_type: Annotated[
        str | None, options.source_type_option("Что в --source (по умолчанию text).")
    ] = None,
    host: Annotated[
        str, options.option("--host", metavar="АДРЕС", panel=_SERVER, help="Адрес", default=HOST)
    ] = HOST,
    port: Annotated[
        int,
        options.option(
            "--port",
            metavar="ПОРТ",
            panel=_SERVER,
            parser=whole_number(0, 65535),
            help="Порт, 0 – любой свободный",
            default=defaults.SERVER_PORT,
        ),
    ] = defaults.SERVER_PORT,
    output: Annotated[
        Path | None,
        options.folder_option(
            "--output",
            panel=_SERVER,
            help="Куда писать сессии; после перезапуска с тем же каталогом они продолжаются.",
        ),
    ] = None,
    max_sessions: Annotated[
        int,
        options.count_option(
            "--max-sessions",
            panel=_SERVER,
            help="Сколько сессий держать сразу",
            default=defaults.MAX_SESSIONS,
        ),
    ] = defaults.MAX_SESSIONS,
    idle_minutes: Annotated[
        float,
        options.positive_option(
            "--idle-minutes",
            metavar="МИН",
            panel=_SERVER,
            help="Через сколько минут без запросов забывать сессию",
            default=defaults.IDLE_S / 60,
        ),
    ] = defaults.IDLE_S / 60,
    quality_metrics: Annotated[list[str] | None, options.quality_option()] = None,
    latency_metrics: Annotated[
        list[str] | None, options.latency_option(" или свои; для речи к каждому добавляется _CA.")
    ] = None,
    eval_latency_unit: options.LatencyUnitName = "word",
    no_use_ref_len: options.NoReferenceLength = False,
    sacrebleu_tokenizer: options.Tokenizer = defaults.TOKENIZER,
    metrics_file: Annotated[
        str | None,
        options.option(
            "--metrics-file",
            metavar="ФАЙЛ.py",
            panel=options.METRICS,
            help="Файл, который добавляет свои показатели через @register_latency_scorer или "
            "@register_quality_scorer.",
        ),
    ] = None,
) -> None:
    """Раздаёт источники по REST и оценивает всё, что присылают: качество и задержку.

    Система на любом языке читает источник по частям (GET /src) и присылает слова (PUT /hypo);
    протокол описан в docs/serve.md и в /openapi.json, ход работы виден на /live. Чтобы слушать не
    только этот компьютер, нужен токен в переменной STT_RU_TOKEN.

    Коды выхода: 2 – неверные аргументы или данные; 130 – Ctrl+C, 143 – SIGTERM.
    """
    from stt_ru.simultaneous.core.dataset import check_sources, load_dataset
    from stt_ru.simultaneous.server.corpus import SAMPLE_RATE
    from stt_ru.simultaneous.server.running import (
        TOKEN_VARIABLE,
        address_of,
        bind,
        check_installed,
        make_server,
        make_store,
    )

    kind = cast("DataType | None", source_type)
    check_sources(manifest, source, target, kind)
    check_installed()
    token = os.environ.get(TOKEN_VARIABLE) or None
    notices: list[str] = []
    dataset = load_dataset(
        manifest, source, target, kind or "text", warn=notices.append, sample_rate=SAMPLE_RATE
    )
    if metrics_file is not None:
        from stt_ru.recognition.user_modules import load_module

        load_module(metrics_file, "--metrics-file")
    from stt_ru.simultaneous.scorers import ScorerOptions, take_notices

    store = make_store(
        dataset,
        split_names(quality_metrics, defaults.QUALITY_METRICS),
        split_names(latency_metrics, defaults.LATENCY_METRICS),
        ScorerOptions(
            tokenizer=sacrebleu_tokenizer,
            use_ref_len=not no_use_ref_len,
            computation_aware=dataset.source_type == "speech",
        ),
        latency_unit=cast("LatencyUnit", eval_latency_unit),
        output=output,
        max_sessions=max_sessions,
        idle_s=idle_minutes * 60,
    )
    notices += take_notices()
    with bind(host, port, token) as listening:
        server = make_server(store, token)
        for notice in notices:
            print_warning(notice)
        _say_where(address_of(listening), dataset, len(store.all()), needs_token=token is not None)
        server.run(sockets=[listening])


def _say_where(address: str, dataset: Dataset, restored: int, *, needs_token: bool) -> None:
    what = "речь" if dataset.source_type == "speech" else "текст"
    print_message(
        f"Сервер: {address}, примеров {len(dataset)}, источник – {what}"
        + (f", сессий с диска: {restored}" if restored else "")
        + (", нужен токен" if needs_token else "")
    )
    print_message(f"Ход работы: {address}/live. Остановить: Ctrl+C")
