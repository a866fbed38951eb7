"""The command ``stt-ru report``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from stt_ru.cli.options import (
    REPORT,
    EmbedAudio,
    GlossaryFile,
    GroupBy,
    argument,
    folder_option,
    output_option,
)
from stt_ru.cli.output import AskedRules, check_output, print_warning, recordings_folder
from stt_ru.cli.stdio import print_message
from stt_ru.errors import UsageError

if TYPE_CHECKING:
    from stt_ru.report.json_read import StoredReport


def report(
    stored: Annotated[Path, argument("ОТЧЁТ.json", "Отчёт stt-ru.")],
    output: Annotated[
        Path,
        output_option(
            "Куда: .html – страница, .md – таблицы, .csv – строка на запись, .xlsx – книга Excel."
        ),
    ],
    audio_dir: Annotated[
        Path | None,
        folder_option(
            "--audio-dir",
            panel=REPORT,
            help="Где лежат записи (по умолчанию там, где был манифест, или рядом с отчётом).",
        ),
    ] = None,
    embed_audio: EmbedAudio = False,
    group_by: GroupBy = None,
    glossary: GlossaryFile = None,
) -> None:
    """Делает из отчёта .json страницу .html, таблицы .xlsx, .md, .csv.

    Коды выхода: 0 – сделано; 1 – файл не записан; 2 – отчёт не читается.
    """
    from stt_ru.report.json_read import read_report

    check_output(output, [stored], embed_audio=embed_audio)
    if audio_dir is not None and not audio_dir.is_dir():
        raise UsageError(f"--audio-dir {audio_dir}: такого каталога нет")
    found = read_report(stored)
    from datetime import datetime

    from stt_ru.files.writing import write_report
    from stt_ru.report.findings import make_findings
    from stt_ru.report.render import render

    for warning in found.warnings:
        print_warning(warning)
    findings = make_findings(
        found.models,
        manifest=found.manifest,
        folder=_recordings_of(found, stored) if audio_dir is None else audio_dir,
        created_at=found.created_at or datetime.now().astimezone(),
        rules=AskedRules(glossary=glossary).rules,
        warnings=found.warnings,
        group_by=group_by,
        is_read_back=True,
    )
    write_report(output, render(findings, output, embed_audio=embed_audio, warn=print_warning))
    print_message(f"Отчёт: {output}")


def _recordings_of(found: StoredReport, path: Path) -> Path:
    """The folder with most of the recordings: where the manifest was, or beside the report.

    The manifest's path is of the folder that the report was made in, and the user may stand in
    another.
    """
    from stt_ru.manifest.recordings import Recordings

    names = {result.audio for model in found.models for result in model.results}
    folders = [
        recordings_folder(Path(found.manifest)),
        recordings_folder(path.parent / found.manifest),
        path.parent,
    ]

    def count(folder: Path) -> int:
        recordings = Recordings(str(folder))
        return sum(recordings.find(name) is not None for name in names)

    return max(folders, key=count)  # the first of equals
