"""The command ``stt-ru score``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from stt_ru.cli import options
from stt_ru.cli.options import allow_empty_option, argument, option
from stt_ru.cli.output import (
    AskedRules,
    Reporting,
    check_output,
    print_and_save,
    recordings_folder,
)
from stt_ru.cli.russian import one_of
from stt_ru.defaults import TRANSCRIPT_FORMATS

_TEXTS = "Тексты"


def _column_option(name: str, what: str) -> Any:
    return option(name, metavar="ИМЯ", panel=_TEXTS, help=f"Колонка {what}.")


def score(
    files: Annotated[
        list[Path],
        argument(
            "ФАЙЛ",
            "Отчёты stt-ru (.json) или таблицы с обоими текстами (CSV, JSONL, NeMo) – каждый файл "
            "отдельная система; иначе первый файл – эталоны, остальные – тексты систем: построчно, "
            "«id текст» (Kaldi), trn, STM, CTM, CSV, JSONL.",
        ),
    ],
    manifest: Annotated[
        Path | None,
        option(
            "--manifest",
            metavar="МАНИФЕСТ",
            panel=_TEXTS,
            help="Взять эталоны отсюда (CSV, JSONL, каталог), например исправленные; самих записей "
            "рядом может не быть.",
        ),
    ] = None,
    ref_column: Annotated[
        str | None, _column_option("--ref-column", "эталона (обычно text)")
    ] = None,
    hyp_column: Annotated[
        str | None, _column_option("--hyp-column", "текста модели (обычно pred_text)")
    ] = None,
    id_column: Annotated[
        str | None, _column_option("--id-column", "id (обычно id или audio)")
    ] = None,
    format: Annotated[
        str | None,
        option(
            "--format",
            metavar="ВИД",
            panel=_TEXTS,
            parser=one_of(*TRANSCRIPT_FORMATS),
            help=f"Как читать файлы: {', '.join(TRANSCRIPT_FORMATS)} (по умолчанию по имени и "
            "содержимому).",
        ),
    ] = None,
    output: options.Output = None,
    group_by: options.GroupBy = None,
    variants: options.Variants = False,
    numbers: options.Numbers = "as-is",
    fillers: options.Fillers = False,
    glossary: options.GlossaryFile = None,
    allow_empty: Annotated[
        bool, allow_empty_option("В --manifest: пустой эталон – запись без речи.", _TEXTS)
    ] = False,
) -> None:
    """Считает WER и CER готовых текстов, без распознавания.

    Примеры: stt-ru score report.json --manifest исправленная.csv; stt-ru score refs.trn hyps.trn;
    stt-ru score a.jsonl b.jsonl --ref-column ref_raw --hyp-column hyp_raw --id-column idx.

    Коды выхода: 0 – всё сделано; 1 – у записи нет текста или отчёт не записан; 2 – неверные
    аргументы или файлы.
    """
    inputs = [*files, *([manifest] if manifest is not None else [])]
    check_output(output, inputs)
    rules = AskedRules(numbers == "match", fillers, glossary)
    rules.check()
    from stt_ru.transcripts import ColumnNames, score_files

    scored = score_files(
        files,
        columns=ColumnNames(reference=ref_column, hypothesis=hyp_column, id=id_column),
        file_format=format,
        manifest=manifest,
        allow_empty=allow_empty,
        variants=variants,
    )
    source = files[0] if manifest is None else manifest
    raise typer.Exit(
        print_and_save(
            scored.reports,
            scored.notices,
            Reporting(
                manifest=str(source),
                output=output,
                kind="score",
                group_by=group_by,
                rules=rules,
                folder=None if manifest is None else recordings_folder(manifest),
            ),
        )
    )
