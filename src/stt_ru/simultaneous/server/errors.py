"""What a request of a client can get wrong, each with its HTTP status."""

from __future__ import annotations

from typing import ClassVar

from stt_ru.errors import SttRuError


class ProtocolError(SttRuError):
    """A request cannot be served; nothing has changed. Its text is a sentence in Russian."""

    status: ClassVar[int] = 400


class BadRequestError(ProtocolError):
    """A parameter or a body makes no sense."""


class UnauthorizedError(ProtocolError):
    """The token is missing or wrong."""

    status = 401


class UnknownError(ProtocolError):
    """There is no such instance, session or path."""

    status = 404


class OutOfOrderError(ProtocolError):
    """The request comes when it cannot: after the end of a hypothesis, ahead of the source."""

    status = 409


class BodyTooLargeError(ProtocolError):
    """The body is longer than is accepted."""

    status = 413


class TooManySessionsError(ProtocolError):
    """No more sessions fit."""

    status = 429


class NotSavedError(ProtocolError):
    """The server could not write the result down; the request may be repeated."""

    status = 507
