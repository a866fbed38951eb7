"""The command ``stt-ru serve``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, cast

from stt_ru.cli.options import (
    LATENCY,
    METRICS,
    QUALITY,
    TOKENIZER,
    LatencyUnitName,
    NoReferenceLength,
    SourceFile,
    SpeechOrTexts,
    TargetFile,
    Tokenizer,
    metrics_option,
    option,
    source_type_option,
)
from stt_ru.cli.parsing import split_names
from stt_ru.cli.russian import number, whole_number
from stt_ru.cli.stdio import print_message

if TYPE_CHECKING:
    from stt_ru.simultaneous.core.record import LatencyUnit
    from stt_ru.simultaneous.core.segments import DataType

HOST: Final = "127.0.0.1"

# Written here as well as in the library, whose modules are heavy; a test keeps them equal.
PORT: Final = 12321
MAX_SESSIONS: Final = 1000
IDLE_MINUTES: Final = 60.0

_SERVER = "Сервер"


def serve(
    manifest: SpeechOrTexts = None,
    source: SourceFile = None,
    target: TargetFile = None,
    source_type: Annotated[
        str | None, source_type_option("Что в --source (по умолчанию text).")
    ] = None,
    host: Annotated[
        str,
        option("--host", metavar="АДРЕС", panel=_SERVER, help=f"Адрес (по умолчанию {HOST})."),
    ] = HOST,
    port: Annotated[
        int,
        option(
            "--port",
            metavar="ПОРТ",
            panel=_SERVER,
            parser=whole_number(0, 65535),
            help=f"Порт, 0 – любой свободный (по умолчанию {PORT}).",
        ),
    ] = PORT,
    output: Annotated[
        Path | None,
        option(
            "--output",
            metavar="КАТАЛОГ",
            panel=_SERVER,
            help="Куда писать сессии; после перезапуска с тем же каталогом они продолжаются.",
        ),
    ] = None,
    max_sessions: Annotated[
        int,
        option(
            "--max-sessions",
            metavar="N",
            panel=_SERVER,
            parser=whole_number(1),
            help=f"Сколько сессий держать сразу (по умолчанию {MAX_SESSIONS}).",
        ),
    ] = MAX_SESSIONS,
    idle_minutes: Annotated[
        float,
        option(
            "--idle-minutes",
            metavar="МИН",
            panel=_SERVER,
            parser=number(0, exclusive=True),
            help="Через сколько минут без запросов забывать сессию "
            f"(по умолчанию {IDLE_MINUTES:g}).",
        ),
    ] = IDLE_MINUTES,
    quality_metrics: Annotated[
        list[str] | None,
        metrics_option(
            "--quality-metrics", "BLEU (по умолчанию), CHRF, WER, CER или свои; можно несколько."
        ),
    ] = None,
    latency_metrics: Annotated[
        list[str] | None,
        metrics_option(
            "--latency-metrics",
            "AL AP DAL (по умолчанию), LAAL, AP_HYP, ATD, StartOffset, EndOffset, NumChunks, RTF "
            "или свои; для речи к каждому добавляется _CA.",
        ),
    ] = None,
    eval_latency_unit: LatencyUnitName = "word",
    no_use_ref_len: NoReferenceLength = False,
    sacrebleu_tokenizer: Tokenizer = TOKENIZER,
    metrics_file: Annotated[
        str | None,
        option(
            "--metrics-file",
            metavar="ФАЙЛ.py",
            panel=METRICS,
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
        split_names(quality_metrics, QUALITY),
        split_names(latency_metrics, LATENCY),
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
            print_message(f"Внимание: {notice}")
        address = address_of(listening)
        what = "речь" if dataset.source_type == "speech" else "текст"
        restored = len(store.all())
        print_message(
            f"Сервер: {address}, примеров {len(dataset)}, источник – {what}"
            + (f", сессий с диска: {restored}" if restored else "")
            + (", нужен токен" if token else "")
        )
        print_message(f"Ход работы: {address}/live. Остановить: Ctrl+C")
        server.run(sockets=[listening])
