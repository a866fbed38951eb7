"""Every deliberate exception of the package, with the exit code it means on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Sequence


class SttRuError(Exception):
    """Something asked for could not be done; its text is a sentence in Russian for the user."""

    exit_code: ClassVar[int] = 1


class UsageError(SttRuError, ValueError):
    """The request itself is wrong; found before any model is loaded."""

    exit_code: ClassVar[int] = 2


class ManifestError(UsageError):
    """A manifest cannot be used.

    Attributes:
        problems: One sentence a fault, in the order of the file, each «eval.csv:3: …»
            (path and line, when the fault has a line) and never empty.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


class MissingExtraError(SttRuError, ImportError):
    """A feature needs an optional dependency that is not installed.

    Attributes:
        extra: The name of the extra, e.g. ``media``.
    """

    def __init__(self, feature: str, extra: str) -> None:
        self.extra = extra
        super().__init__(
            f'{feature}: нужен необязательный пакет, установите: pip install ".[{extra}]"'
        )


class AudioError(SttRuError):
    """A recording cannot be read."""


class ModelLoadError(SttRuError):
    """A model or its VAD cannot be loaded."""


class TranscriptionError(SttRuError):
    """A recording was read but could not be recognised."""


class ReportError(SttRuError):
    """A report cannot be written."""


class StreamingError(SttRuError, RuntimeError):
    """A streaming model failed or was misused; raised in the reader, with the cause chained."""
