"""The typer application: which commands there are."""

from __future__ import annotations

from typing import Annotated

import typer

from stt_ru.cli.compare import compare
from stt_ru.cli.evaluate import evaluate
from stt_ru.cli.parsing import MetricsCommand, SimulCommand
from stt_ru.cli.report import report
from stt_ru.cli.russian import RussianCommand, RussianGroup
from stt_ru.cli.score import score
from stt_ru.cli.serve import serve
from stt_ru.cli.simul import simul
from stt_ru.cli.stdio import print_answer
from stt_ru.cli.stream import stream

app = typer.Typer(
    cls=RussianGroup,
    rich_markup_mode=None,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    subcommand_metavar="КОМАНДА [АРГУМЕНТЫ]...",
    options_metavar="[ПАРАМЕТРЫ]",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(value: bool) -> None:
    if value:
        from importlib.metadata import version

        packages = ("stt-ru", "onnx-asr", "onnxruntime")
        print_answer(", ".join(f"{package} {version(package)}" for package in packages))
        raise typer.Exit


@app.callback()
def _stt_ru(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Показать версии и выйти."
        ),
    ] = False,
) -> None:
    """Измеряет распознавание русской речи: WER, CER и скорость моделей на ваших записях."""


app.command(cls=RussianCommand, options_metavar="[ПАРАМЕТРЫ]", no_args_is_help=True)(evaluate)
app.command(cls=RussianCommand, options_metavar="[ПАРАМЕТРЫ]", no_args_is_help=True)(stream)
app.command(cls=SimulCommand, options_metavar="[ПАРАМЕТРЫ]", no_args_is_help=True)(simul)
app.command(cls=RussianCommand, options_metavar="[ПАРАМЕТРЫ]", no_args_is_help=True)(score)
app.command(cls=RussianCommand, options_metavar="[ПАРАМЕТРЫ]", no_args_is_help=True)(compare)
app.command(cls=RussianCommand, options_metavar="[ПАРАМЕТРЫ]", no_args_is_help=True)(report)
app.command(cls=MetricsCommand, options_metavar="[ПАРАМЕТРЫ]", no_args_is_help=True)(serve)
