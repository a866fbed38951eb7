"""What every command does with its reports: the table, what must be said beside it, the file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from stt_ru.cli.stdio import print_answer, print_message
from stt_ru.defaults import REPORT_SUFFIXES
from stt_ru.errors import MissingExtraError, ReportError, UsageError

if TYPE_CHECKING:
    from stt_ru.report.findings import Findings
    from stt_ru.report.sentences import Note
    from stt_ru.results import ModelReport
    from stt_ru.scoring.relaxed import Rules

# The package that a file takes, and the extra it is in.
_PACKAGES: Final = {".html": ("jinja2", "report"), ".xlsx": ("xlsxwriter", "xlsx")}


@dataclass(frozen=True)
class AskedRules:
    """The options ``--numbers``, ``--fillers`` and ``--glossary`` of a command.

    Attributes:
        numbers: Whether WER with equal numbers was asked for.
        fillers: Whether WER without fillers was.
        glossary: The glossary's file; None for none.
    """

    numbers: bool = False
    fillers: bool = False
    glossary: Path | None = None

    @property
    def are_asked(self) -> bool:
        """Whether the table of rules is to be printed."""
        return self.numbers or self.fillers or self.glossary is not None

    def check(self) -> None:
        """Read the glossary, so that a broken one is reported before any work is done.

        Raises:
            UsageError: If it cannot be read.
        """
        if self.glossary is not None:
            _ = self.rules

    @cached_property
    def rules(self) -> Rules:
        """The rules; the glossary is read once, it may have changed when the work is done.

        Raises:
            UsageError: If the glossary cannot be read.
        """
        from stt_ru.scoring.relaxed import FILLERS, Glossary, Rules, read_glossary

        return Rules(
            numbers=self.numbers,
            fillers=FILLERS if self.fillers else frozenset(),
            glossary=Glossary() if self.glossary is None else read_glossary(self.glossary),
        )


def recordings_folder(manifest: Path) -> Path:
    """The folder that the recordings of a manifest are named from."""
    return manifest if manifest.is_dir() else manifest.parent


def check_output(
    output: Path | None,
    inputs: Sequence[Path],
    *,
    suffixes: tuple[str, ...] = REPORT_SUFFIXES,
    what: str = "отчёт",
    embed_audio: bool = False,
) -> None:
    """Refuse a report that cannot be written or would replace what it is made from.

    Args:
        output: The report's file; None for none.
        inputs: What it is made from.
        suffixes: The kinds of files that the command writes.
        what: What the user calls it.
        embed_audio: Whether recordings are to be put into it, which only a page can hold.

    Raises:
        UsageError: Saying why.
    """
    from stt_ru.files.writing import check_target

    if embed_audio and (output is None or output.suffix.lower() != ".html"):
        raise UsageError("--embed-audio кладёт записи внутрь страницы: укажите -o ФАЙЛ.html")
    if output is None:
        return
    check_target(output, suffixes=suffixes, what=what)
    suffix = output.suffix.lower()
    if suffix in _PACKAGES:
        package, extra = _PACKAGES[suffix]
        check_installed(package, f"отчёт {suffix}", extra)
    for path in inputs:
        if output.exists() and output.resolve() == path.resolve():
            raise UsageError(f"{what} {output} стёр бы {path}: укажите другой файл")


def check_installed(package: str, feature: str, extra: str) -> None:
    """Refuse what takes an optional package that is not there; the package is not loaded.

    Raises:
        MissingExtraError: Saying how to install it.
    """
    from importlib.util import find_spec

    if find_spec(package) is None:
        raise MissingExtraError(feature, extra)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reporting:
    """How the results of ``evaluate`` and ``score`` are shown and saved.

    Attributes:
        manifest: For the report.
        output: The report's file; None for none.
        kind: The command that asks, for the report.
        group_by: The column whose values are independent of one another; None for recordings.
        rules: Spelling rules to show WER under.
        folder: The folder that recordings are named from; None when there are none.
        embed_audio: Whether an HTML page holds the recordings.
    """

    manifest: str
    output: Path | None
    kind: Literal["evaluate", "score"] = "evaluate"
    group_by: str | None = None
    rules: AskedRules = AskedRules()
    folder: Path | None = None
    embed_audio: bool = False

    def find(self, reports: Sequence[ModelReport], notices: Sequence[str]) -> Findings:
        """What is found in the reports."""
        from stt_ru.report.findings import make_findings

        return make_findings(
            reports,
            manifest=self.manifest,
            folder=self.folder,
            created_at=datetime.now().astimezone(),
            kind=self.kind,
            rules=self.rules.rules,
            warnings=notices,
            group_by=self.group_by,
        )


def print_and_save(
    reports: Sequence[ModelReport], notices: Sequence[str], reporting: Reporting
) -> int:
    """Print the table to stdout, notices and notes to stderr, and write the report.

    Args:
        reports: The models.
        notices: Warnings met before; the report has them too.
        reporting: How they are shown and saved.

    Returns:
        The exit code: 1 when a row or a model failed or something could not be written.
    """
    from stt_ru.report.render import render
    from stt_ru.report.table import format_table, spelling_table

    findings = reporting.find(reports, notices)
    output = reporting.output
    code = 1 if any(report.failed for report in reports) else 0
    if reports:
        try:
            print_answer(format_table(reports, uncertainties=findings.statistics.uncertainties))
            if reporting.rules.are_asked and any(findings.spellings):
                print_answer("\n" + spelling_table(reports, findings.spellings))
            if findings.conclusions:
                print_answer("\n" + "\n".join(findings.conclusions))
        except ReportError as error:
            print_message(f"Ошибка: {error}")
            code = 1
    print_notes(notices, findings.notes)
    if output is None or not reports:
        return code
    is_saved = save_report(
        output,
        lambda: render(findings, output, embed_audio=reporting.embed_audio, warn=print_warning),
    )
    return code if is_saved else 1


def keep(reports: Sequence[ModelReport], notices: Sequence[str], reporting: Reporting) -> None:
    """Save the models that are complete while others are still to come."""
    from stt_ru.report.render import render

    output = reporting.output
    if output is not None:
        findings = reporting.find(reports, notices)
        keep_report(output, lambda: render(findings, output, embed_audio=reporting.embed_audio))


def keep_report(output: Path, render: Callable[[], Iterable[str] | Iterable[bytes]]) -> None:
    """Write a report that will be written again; a failure is reported and does not stop the run.

    Args:
        output: The file.
        render: Makes its pieces.
    """
    from stt_ru.files.writing import write_report

    try:
        write_report(output, render())
    except ReportError as error:
        print_warning(f"готовые модели пока не сохранены: {error}")


def print_notes(notices: Iterable[str], notes: Iterable[Note]) -> None:
    """Say after the table what a person must know beside it.

    Args:
        notices: Warnings met before the first model.
        notes: What the reports say.
    """
    for notice in notices:
        print_warning(notice)
    for note in notes:
        print_message(f"{'Ошибка' if note.kind == 'error' else 'Внимание'}: {note.text}")


def print_warning(text: str) -> None:
    """Print to stderr what a person must keep in mind."""
    print_message(f"Внимание: {text}")


def save_report(output: Path, render: Callable[[], Iterable[str] | Iterable[bytes]]) -> bool:
    """Write the report and say where it is, or why it could not be written.

    Args:
        output: The file.
        render: Makes its pieces.

    Returns:
        Whether it was written.
    """
    from stt_ru.files.writing import write_report

    is_saved = succeeds(lambda: write_report(output, render()))
    if is_saved:
        print_message(f"Отчёт: {output}")
    return is_saved


def succeeds(write: Callable[[], None]) -> bool:
    """Whether something could be printed or saved; the reason is printed if not."""
    try:
        write()
    except ReportError as error:
        print_message(f"Ошибка: {error}")
        return False
    return True
