"""The command ``stt-ru report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stt_ru.cli.outcome import AskedRules, check_output
from stt_ru.cli.streams import print_message


def report(
    stored: Annotated[
        Path, typer.Argument(metavar="ОТЧЁТ.json", show_default=False, help="Отчёт stt-ru.")
    ],
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            metavar="ФАЙЛ",
            show_default=False,
            help="Куда: .html – страница, .md – таблицы, .csv – строка на запись.",
        ),
    ],
    audio_dir: Annotated[
        Path | None,
        typer.Option(
            "--audio-dir",
            metavar="КАТАЛОГ",
            show_default=False,
            help="Где лежат записи (по умолчанию там, где была разметка).",
        ),
    ] = None,
    embed_audio: Annotated[
        bool, typer.Option("--embed-audio", help="Положить записи внутрь страницы .html.")
    ] = False,
    group_by: Annotated[
        str | None,
        typer.Option(
            "--group-by",
            metavar="КОЛОНКА",
            show_default=False,
            help="Строки с одним значением этой колонки (звонок, диктор) зависят друг от друга.",
        ),
    ] = None,
    glossary: Annotated[
        Path | None,
        typer.Option(
            "--glossary",
            metavar="ФАЙЛ",
            show_default=False,
            help="Равные формы: в строке «яндекс = yandex = янд екс».",
        ),
    ] = None,
) -> None:
    """Делает из отчёта .json страницу .html, таблицы .md или .csv.

    Коды выхода: 0 – сделано; 1 – файл не записан; 2 – отчёт не читается.
    """
    from stt_ru.report.reading import read_report

    check_output(output, [stored])
    found = read_report(stored)
    from datetime import datetime

    from stt_ru.report.content import make_content, render
    from stt_ru.report.files import write_report

    folder = audio_dir
    if folder is None:
        manifest = Path(found.manifest)
        folder = manifest if manifest.is_dir() else manifest.parent
    content = make_content(
        found.models,
        manifest=found.manifest,
        folder=folder,
        created_at=found.created_at or datetime.now().astimezone(),
        rules=AskedRules(glossary=glossary).rules(),
        group_by=group_by,
    )
    write_report(output, render(content, output, embed_audio=embed_audio))
    print_message(f"Отчёт: {output}")
