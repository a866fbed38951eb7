"""The command line: `main` is what ``stt-ru`` runs, ``app`` its typer application."""

from __future__ import annotations

import os
from typing import Any

__all__ = ["main"]


def main() -> None:
    """Run the command line on the process' arguments and end the process with its exit code."""
    try:
        from stt_ru.cli.entry import run

        code = run()
    except KeyboardInterrupt:  # while libraries were loading, before anything could be said
        code = 130
    # Recognisers that were interrupted still run in their threads, inside code that does not stop.
    os._exit(code)


def __getattr__(name: str) -> Any:  # typer takes a tenth of a second to load
    if name == "app":
        from stt_ru.cli.app import app

        return app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
