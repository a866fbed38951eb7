"""The command ``stt-ru compare``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from stt_ru.cli.options import REPORT, ComparedGroups, argument, option
from stt_ru.cli.stdio import print_answer, print_message
from stt_ru.errors import UsageError

if TYPE_CHECKING:
    from stt_ru.results import ModelReport

WORSE: Final = 3
"""The exit code of ``--fail-if-worse`` when B is worse."""

_MUST_AGREE: Final = {  # fields of the signature, and what they are called in a message
    "norm": "нормализация",
    "split": "деление ошибок на виды",
    "empty": "правило пустых эталонов",
    "variants": "варианты в эталонах",
    "refs": "эталоны",
    "channel": "правило каналов",
}


def _model_option(name: str, report: str) -> Any:
    help = f"Модель из {report}, если их несколько."
    return option(name, metavar="ИМЯ", panel=REPORT, help=help)


def compare(
    report_a: Annotated[Path, argument("A.json", "Прежний отчёт stt-ru.")],
    report_b: Annotated[Path, argument("B.json", "Новый отчёт stt-ru.")],
    model_a: Annotated[str | None, _model_option("--model-a", "A")] = None,
    model_b: Annotated[str | None, _model_option("--model-b", "B")] = None,
    group_by: ComparedGroups = None,
    fail_if_worse: Annotated[
        bool,
        option(
            "--fail-if-worse",
            panel=REPORT,
            help=f"Код выхода {WORSE}, если B достоверно хуже A: для CI.",
        ),
    ] = False,
) -> None:
    """Сравнивает два отчёта: лучше ли B, чем A, и можно ли этому верить.

    Отчёты должны быть сделаны по одним правилам; сравниваются их общие записи с одинаковыми
    эталонами. «Хуже» значит: интервал 95 % разницы WER целиком выше нуля.

    Коды выхода: 0 – сравнено; 1 – одна из моделей распознала не все записи; 2 – отчёты не читаются
    или не сравнимы; 3 – с --fail-if-worse: B достоверно хуже.
    """
    from stt_ru.analysis.aligned_rows import AlignedReport
    from stt_ru.analysis.significance import describe
    from stt_ru.report.json_read import read_report
    from stt_ru.report.sentences import trust_notes, verdicts
    from stt_ru.report.table import format_table

    a = _model(read_report(report_a).models, report_a, model_a, "--model-a")
    b = _model(read_report(report_b).models, report_b, model_b, "--model-b")
    check_comparable(a, b)
    if a.label == b.label:
        a, b = (
            replace(one, label=f"{one.label} ({path})")
            for one, path in ((a, report_a), (b, report_b))
        )
    statistics = describe([AlignedReport(a), AlignedReport(b)], group_by=group_by)
    if not statistics.comparisons:
        raise UsageError(
            "отчёты нельзя сравнить построчно: в них нет ни одной общей записи с одинаковым "
            "эталоном"
        )
    (pair,) = statistics.comparisons
    print_answer(format_table([a, b], uncertainties=statistics.uncertainties))
    print_answer("\n" + "\n".join(verdicts(statistics, [a, b])))
    for note in trust_notes(statistics):
        print_message(f"Внимание: {note.text}")
    for one in (a, b):
        if one.failed:
            print_message(
                f"Ошибка: {one.label}: не распознано строк: {one.failed} из {one.files}; "
                f"сравнены общие строки ({pair.rows})"
            )
    if fail_if_worse and pair.is_b_worse:
        print_message(f"Ошибка: {b.label} достоверно хуже, чем {a.label}")
        raise typer.Exit(WORSE)
    raise typer.Exit(1 if a.failed or b.failed else 0)


def _model(models: Sequence[ModelReport], path: Path, name: str | None, option: str) -> ModelReport:
    names = ", ".join(model.label for model in models)
    if name is not None:
        models = [model for model in models if name in (model.label, model.model)]
    if len(models) != 1:
        what = "нет моделей" if not names else f"модели: {names}"
        raise UsageError(f"{path}: {what}; назовите одну: {option} ИМЯ")
    (model,) = models
    if model.error is not None:
        raise UsageError(f"{path}: модель {model.label} не загружена: {model.error}")
    return model


def check_comparable(a: ModelReport, b: ModelReport) -> None:
    """Refuse reports whose figures mean different things.

    Raises:
        UsageError: Naming each rule that differs, with both values.
    """
    if a.signature is None or b.signature is None:
        raise UsageError("в отчёте нет signature: не видно, по каким правилам он посчитан")
    one, two = a.signature.fields, b.signature.fields
    different = [
        f"{title} ({field}: {one.get(field, 'нет')} и {two.get(field, 'нет')})"
        for field, title in _MUST_AGREE.items()
        if one.get(field) != two.get(field) and not (field == "refs" and _have_other_rows(a, b))
    ]
    if different:
        raise UsageError(
            f"отчёты сделаны по разным правилам, их WER не сравнимы: {'; '.join(different)}. "
            "Пересчитайте оба одинаково, например stt-ru score ОТЧЁТ --manifest МАНИФЕСТ -o НОВЫЙ"
        )


def _have_other_rows(a: ModelReport, b: ModelReport) -> bool:
    """Whether the digests of the references differ because the recordings do."""
    one, two = (Counter((row.audio, row.channel) for row in report.results) for report in (a, b))
    return one != two
