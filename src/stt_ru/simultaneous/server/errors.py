"""What a request of a client can get wrong, each with its HTTP status."""

from __future__ import annotations

from typing import ClassVar

from stt_ru.errors import SttRuError


class ProtocolError(SttRuError):
    """A request cannot be served; nothing has changed. Its text is a sentence in Russian.

    Attributes:
        status: Of the answer.
        closes: Whether the connection ends with it, since the rest of the body is not read.
    """

    status: ClassVar[int] = 400
    closes: ClassVar[bool] = False


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
    closes = True


class BodyLateError(ProtocolError):
    """The body has stopped coming."""

    closes = True


class TooManySessionsError(ProtocolError):
    """No more sessions fit."""

    status = 429


class NotSavedError(ProtocolError):
    """The server could not write the result down; the request may be repeated."""

    status = 507
