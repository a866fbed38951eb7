"""What a user reads when the system refuses something, or foreign code fails."""

from __future__ import annotations

import errno
import http.client
import socket
from collections.abc import Callable

import pytest

from stt_ru.errors import StreamingError, sentence_of, system_reason
from stt_ru.files.reading import describe_os_error
from stt_ru.files.writing import reason
from stt_ru.simultaneous.run.client import _why

RESET = "он оборвал соединение"


def told(number: int) -> OSError:
    return OSError(number, "told in English")


@pytest.mark.parametrize(
    ("say", "error", "said"),
    [
        (system_reason, told(errno.EMFILE), "открыто слишком много файлов"),
        (system_reason, told(errno.ENETUNREACH), "сеть недоступна"),
        (system_reason, told(errno.EDOM), "ошибка системы EDOM (told in English)"),
        (system_reason, told(987654), "ошибка системы 987654 (told in English)"),
        (system_reason, OSError("файл закрыт"), "файл закрыт"),
        (system_reason, OSError(), "OSError"),
        (describe_os_error, told(errno.EACCES), "нет прав на чтение"),
        (describe_os_error, told(errno.ENFILE), "открыто слишком много файлов"),
        (reason, told(errno.ENOENT), "нет каталога над ним"),
        (reason, told(errno.EROFS), "диск только для чтения"),
        (_why, told(errno.ECONNREFUSED), "на этом порту никто не слушает; запустите stt-ru serve"),
        (_why, told(errno.EHOSTUNREACH), "компьютер с этим адресом недоступен"),
        (_why, told(errno.EPIPE), RESET),
        (_why, http.client.RemoteDisconnected("told in English"), RESET),
        (_why, http.client.IncompleteRead(b"", 5), RESET),
        (_why, http.client.BadStatusLine("SSH-2.0"), "он говорит не на HTTP (BadStatusLine)"),
        (_why, TimeoutError("timed out"), "время ожидания вышло"),
        (_why, socket.gaierror(-2, "told in English"), "нет такого адреса"),
    ],
)
def test_the_reason_is_russian(
    say: Callable[[Exception], str], error: Exception, said: str
) -> None:
    assert say(error) == said


class Mute(Exception):  # noqa: N818 - what a user's code may raise
    """Cannot say what is wrong."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (StreamingError("модель молчит"), "модель молчит"),
        (StreamingError(), "StreamingError"),
        (KeyError("a"), "KeyError: 'a'"),
        (RuntimeError("в две\n  строки"), "RuntimeError: в две строки"),
        (TimeoutError(), "TimeoutError"),
        (Mute(), "Mute"),
    ],
)
def test_an_exception_is_one_line(error: Exception, said: str) -> None:
    assert sentence_of(error) == said
