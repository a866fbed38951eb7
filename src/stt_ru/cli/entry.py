"""One run of the command line: the one place where errors become exit codes."""

from __future__ import annotations

import os
import sys
from copy import copy
from typing import TYPE_CHECKING

from stt_ru.cli.interrupts import Interruption
from stt_ru.cli.stdio import flush_streams, prepare_streams, print_message
from stt_ru.errors import SttRuError, system_reason

if TYPE_CHECKING:
    import typer

# Recordings already run in parallel: a numeric library that starts one thread per core in each of
# them makes them slower. The libraries read these when they load.
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def run() -> int:
    """Run the command that the arguments name.

    Returns:
        The exit code: 0 done, 1 something failed, 2 wrong request, 130 Ctrl+C, 143 SIGTERM.
    """
    prepare_streams()
    interruption = Interruption()
    interruption.listen()
    for variable in ONE_THREAD:
        os.environ.setdefault(variable, "1")
    os.environ.setdefault("HF_HUB_VERBOSITY", "error")  # failures are reported in our own words
    try:
        code = _run_command()
    except KeyboardInterrupt:
        code = 130
    except Exception:
        # A library whose import is interrupted may answer with an error of its own.
        if interruption.exit_code is None:
            raise
        code = interruption.exit_code
    finally:
        flush_streams()
    return code if interruption.exit_code is None else interruption.exit_code


def _run_command() -> int:
    import typer

    from stt_ru.cli.app import app
    from stt_ru.cli.russian import ParserError, completion_in_russian, in_russian

    command = typer.main.get_command(_with_one_command(app, sys.argv[1:2]))
    try:
        with completion_in_russian(sys.argv):
            return command.main(prog_name="stt-ru", standalone_mode=False) or 0
    except ParserError as error:
        text = in_russian(error)
        if text:
            print_message(text)
        return int(error.exit_code)
    except SttRuError as error:  # a manifest's faults stand on a line each
        for sentence in str(error).split("\n"):
            print_message(f"Ошибка: {sentence}")
        return error.exit_code
    except OSError as error:  # of none of our own modules: there each is a sentence
        place = "" if error.filename is None else f"{error.filename}: "
        print_message(f"Ошибка: {place}{system_reason(error)}")
        return 1
    except SystemExit as end:  # typer's, after shell completion or a pipe without a reader
        if isinstance(end.__context__, BrokenPipeError):
            return 0
        return end.code if isinstance(end.code, int) else 1


def _with_one_command(app: typer.Typer, words: list[str]) -> typer.Typer:
    """The application with the command that is named alone: typer works out all it is given."""
    named = [
        info
        for info in app.registered_commands
        if info.callback is not None and [info.callback.__name__] == words
    ]
    if not named:  # help, or an error that lists the commands
        return app
    only = copy(app)
    only.registered_commands = named
    return only
