"""The command ``stt-ru score``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from stt_ru.cli.outcome import AskedRules, check_output, print_and_save
from stt_ru.cli.russian import one_of

_TEXTS = "Тексты"

# Written here as well as in the library, which is not light; a test keeps them equal.
FORMATS = ("lines", "kaldi", "trn", "stm", "ctm", "csv", "jsonl", "report")


def _option(*names: str, help: str, metavar: str | None = None, **more: Any) -> Any:
    return typer.Option(
        *names, help=help, metavar=metavar, show_default=False, rich_help_panel=_TEXTS, **more
    )


def score(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="ФАЙЛ",
            show_default=False,
            help="Отчёты stt-ru (.json) или таблицы с обоими текстами (CSV, JSONL, NeMo) – каждый "
            "файл отдельная система; иначе первый файл – эталоны, остальные – тексты систем: "
            "построчно, «id текст» (Kaldi), trn, STM, CTM, CSV, JSONL.",
        ),
    ],
    output: Annotated[
        Path | None,
        _option("-o", "--output", metavar="ФАЙЛ", help="Отчёт .json, .html, .md, .csv."),
    ] = None,
    manifest: Annotated[
        Path | None,
        _option(
            "--manifest",
            metavar="РАЗМЕТКА",
            help="Взять эталоны отсюда (CSV, JSONL, каталог), например исправленные; самих записей "
            "рядом может не быть.",
        ),
    ] = None,
    ref_column: Annotated[
        str | None,
        _option("--ref-column", metavar="ИМЯ", help="Колонка эталона (обычно text)."),
    ] = None,
    hyp_column: Annotated[
        str | None,
        _option("--hyp-column", metavar="ИМЯ", help="Колонка текста модели (обычно pred_text)."),
    ] = None,
    id_column: Annotated[
        str | None,
        _option("--id-column", metavar="ИМЯ", help="Колонка id (обычно id или audio)."),
    ] = None,
    format: Annotated[
        str | None,
        _option(
            "--format",
            metavar="ВИД",
            parser=one_of(*FORMATS),
            help=f"Как читать файлы: {', '.join(FORMATS)} (по умолчанию по имени и содержимому).",
        ),
    ] = None,
    group_by: Annotated[
        str | None,
        _option(
            "--group-by",
            metavar="КОЛОНКА",
            help="Строки с одним значением этой колонки разметки (звонок, диктор) зависят друг от "
            "друга: учесть это в интервале «95 %» и в сравнении моделей.",
        ),
    ] = None,
    numbers: Annotated[
        str,
        _option(
            "--numbers",
            metavar="as-is|match",
            parser=one_of("as-is", "match"),
            help="match: показать WER и с числами, где «15» и «пятнадцать» – одно (по умолчанию "
            "as-is; WER таблицы не меняется).",
        ),
    ] = "as-is",
    fillers: Annotated[
        bool,
        _option(
            "--fillers",
            help="Показать WER и без слов «ну», «э-э», «мм» в обоих текстах.",
        ),
    ] = False,
    glossary: Annotated[
        Path | None,
        _option(
            "--glossary",
            metavar="ФАЙЛ",
            help="Показать WER и с равными формами: в строке «яндекс = yandex = янд екс».",
        ),
    ] = None,
    allow_empty: Annotated[
        bool,
        _option("--allow-empty", help="В --manifest: пустой эталон – запись без речи."),
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
    if glossary is not None:
        rules.rules()  # a broken one is said before anything is read
    from stt_ru.stored import ColumnNames, score_files

    scored = score_files(
        files,
        columns=ColumnNames(reference=ref_column, hypothesis=hyp_column, id=id_column),
        file_format=format,
        manifest=manifest,
        allow_empty=allow_empty,
    )
    source = files[0] if manifest is None else manifest
    raise typer.Exit(
        print_and_save(
            scored.reports,
            scored.notices,
            manifest=str(source),
            output=output,
            group_by=group_by,
            rules=rules,
        )
    )
