"""Every deliberate exception of the package with its command-line exit code.

Also how foreign exceptions are shown to the user.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, ClassVar, Final

from stt_ru.extras import install_command

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Keyed by `errno` names, since not every system defines them all.
_SYSTEM_REASONS: Final = {
    "EACCES": "нет прав",
    "EPERM": "нет прав",
    "ENOENT": "такого файла или каталога нет",
    "EEXIST": "есть файл с таким именем",
    "ENOTDIR": "на пути стоит файл, а не каталог",
    "EISDIR": "это каталог, а не файл",
    "EROFS": "диск только для чтения",
    "ENOSPC": "на диске нет места",
    "EDQUOT": "исчерпана квота",
    "EIO": "сбой диска",
    "EBUSY": "занято другой программой",
    "ETXTBSY": "занято другой программой",
    "ENAMETOOLONG": "имя длиннее, чем допускает система",
    "ELOOP": "символическая ссылка ведёт сама на себя",
    "EMFILE": "открыто слишком много файлов",
    "ENFILE": "открыто слишком много файлов",
    "ENOMEM": "не хватает памяти",
    "ENOBUFS": "не хватает памяти",
    "ENETDOWN": "сеть недоступна",
    "ENETUNREACH": "сеть недоступна",
    "EHOSTDOWN": "компьютер с этим адресом недоступен",
    "EHOSTUNREACH": "компьютер с этим адресом недоступен",
    "ETIMEDOUT": "время ожидания вышло",
}


def system_reason(error: OSError, known: Mapping[str, str] | None = None) -> str:
    """Why the system refused, in Russian; its name and text if no wording is known.

    Args:
        error: What the system raised.
        known: Wordings that fit the attempted operation, keyed by `errno` names.

    Example:
        >>> system_reason(OSError(errno.EACCES, ""), {"EACCES": "нет прав на этот порт"})
        'нет прав на этот порт'
        >>> system_reason(OSError(errno.EDOM, "Out of range"))
        'ошибка системы EDOM (Out of range)'
    """
    if error.errno is None:
        return str(error) or type(error).__name__
    name = errno.errorcode.get(error.errno, str(error.errno))
    words = (known or {}).get(name) or _SYSTEM_REASONS.get(name)
    return words or f"ошибка системы {name} ({error.strerror})"


class SttRuError(Exception):
    """A request could not be carried out; the text is a Russian sentence for the user."""

    exit_code: ClassVar[int] = 1


class UsageError(SttRuError, ValueError):
    """The request itself is wrong; found before any model is loaded."""

    exit_code: ClassVar[int] = 2


class ManifestError(UsageError):
    """A manifest cannot be used.

    Attributes:
        problems: One sentence per fault, in file order, each «eval.csv:3: …» (path, and line if
            the fault has one); never empty.
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
            f"{feature}: нужен необязательный пакет, установите: {install_command(extra)}"
        )


class AudioError(SttRuError):
    """A recording cannot be read."""


class ModelLoadError(SttRuError):
    """A model or its VAD cannot be loaded."""


class TranscriptionError(SttRuError):
    """A recording was read but could not be recognised."""


class ReportError(SttRuError):
    """A report cannot be written, or a history cannot be read."""


class StreamingError(SttRuError, RuntimeError):
    """A streaming model failed or was misused; raised in the reader, with the cause chained."""


USERS_FAILURES: Final = (Exception, SystemExit)
"""What user-supplied code may raise: its ``sys.exit`` is a failure and does not end the program."""


def sentence_of(error: BaseException) -> str:
    """An exception on one line; those from outside this package are prefixed with their type.

    Example:
        >>> sentence_of(ValueError("no such  word"))
        'ValueError: no such word'
    """
    try:
        text = " ".join(str(error).split())
    except Exception:  # noqa: BLE001 - a foreign __str__
        text = ""
    if text and isinstance(error, SttRuError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
