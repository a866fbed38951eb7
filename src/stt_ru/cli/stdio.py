"""What is printed and where: answers to stdout, everything else to stderr."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from stt_ru.errors import ReportError
from stt_ru.files.wording import harmless
from stt_ru.files.writing import reason


def prepare_streams() -> None:
    """Make printing safe: no standard descriptor is free, and no character is unprintable.

    A closed descriptor would be taken by the next file that is opened, and messages would land in
    it.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
    sys.stdout = _usable(sys.stdout)
    sys.stderr = _usable(sys.stderr)


def _usable(stream: TextIO | None) -> TextIO:
    if stream is None:  # it was closed when Python started
        return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123 - for the process' life
    if reconfigure := getattr(stream, "reconfigure", None):
        reconfigure(errors="backslashreplace")
    return stream


def print_answer(text: str) -> None:
    """Print to stdout. A reader that has left (``| head``) is no failure.

    Raises:
        ReportError: If stdout cannot be written for another reason, e.g. a full disk.
    """
    try:
        sys.stdout.write(harmless(text) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        _silence(sys.stdout)
    except OSError as error:
        _silence(sys.stdout)
        raise ReportError(f"вывод не записан: {reason(error)}") from error
    except ValueError as error:  # somebody has closed it
        raise ReportError("вывод не записан: поток закрыт") from error


def print_message(text: str) -> None:
    """Print a line to stderr; when it cannot be written there is nobody to tell."""
    try:
        sys.stderr.write(harmless(text) + "\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        _silence(sys.stderr)


def flush_streams() -> None:
    """Write out what is left, for a process that ends without Python's own clean-up."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            _silence(stream)


def _silence(stream: TextIO) -> None:
    """Send what the stream still holds, and all that follows, nowhere."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(devnull, stream.fileno())
    except (OSError, ValueError):  # a stream without a descriptor, in a test
        pass
    finally:
        os.close(devnull)
