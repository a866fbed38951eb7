"""The handlers: each reads its parameters, asks the session, and answers with JSON."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import logging
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, TypeVar

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from stt_ru.errors import SttRuError
from stt_ru.simultaneous.server.errors import (
    BadRequestError,
    BodyLateError,
    BodyTooLargeError,
    ProtocolError,
    UnauthorizedError,
)
from stt_ru.simultaneous.server.openapi import openapi_document

if TYPE_CHECKING:
    from stt_ru.simultaneous.server.store import SessionStore

MAX_BODY_BYTES: Final = 1024 * 1024
_FORGET_EVERY_S: Final = 60.0

T = TypeVar("T")

logger = logging.getLogger(__name__)

_Handler = Callable[[Request], Awaitable[Response]]


_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


class JSONAnswer(Response):
    """JSON without NaN, in letters people can read, which nobody on the way may keep."""

    media_type = "application/json"

    def init_headers(self, headers: Mapping[str, str] | None = None) -> None:
        """Add that the answer must be asked for each time: reading a source moves it on."""
        super().init_headers({"Cache-Control": "no-store", **(headers or {})})

    def render(self, content: Any) -> bytes:
        """The bytes of the body: one line with its end, so that a terminal shows it as one."""
        return (_ENCODER.encode(content) + "\n").encode()


def make_app(store: SessionStore, *, token: str | None = None, body_timeout_s: float) -> Starlette:
    """The web application of a server.

    Args:
        store: Its sessions.
        token: Required of every request but for the page `/live`, which has no data of its own.
        body_timeout_s: Seconds in which a body must have arrived.
    """
    decoding: dict[int, asyncio.Task[object]] = {}

    async def made_ready(index: int) -> None:
        """Wait until a recording is decoded: by one thread, however many clients begin with it.

        With one thread per client, each would wait for the loop, and longer with more clients.
        """
        if store.corpus.is_ready(index):
            return
        if index not in decoding:
            decode = run_in_threadpool(store.corpus.source, index)
            decoding[index] = asyncio.create_task(decode)
            decoding[index].add_done_callback(lambda _: decoding.pop(index))
        await asyncio.shield(decoding[index])  # a client that goes takes nothing from the others

    async def root(request: Request) -> Response:
        parameters(request)
        if request.method != "POST":
            return JSONAnswer(_about(store))
        session = store.start()
        return JSONAnswer({"session_id": session.session_id, **_about(store)})

    async def source(request: Request) -> Response:
        given = parameters(request, "session_id", "instance_id", "segment_size", "offset")
        index = instance_id(given)
        size, offset = number(given, "segment_size"), whole(given, "offset")
        session = store.find(given.get("session_id"))
        session.check(index)
        await made_ready(index)
        return JSONAnswer(session.read(index, segment_size=size, offset=offset))

    async def hypothesis(request: Request) -> Response:
        given = parameters(request, "session_id", "instance_id")
        index = instance_id(given)
        text = await body_text(request, body_timeout_s)
        session = store.find(given.get("session_id"))
        session.check(index)
        await made_ready(index)
        return JSONAnswer(session.write(index, text))

    async def result(request: Request) -> Response:
        given = parameters(request, "session_id", "instance_id")
        index = whole(given, "instance_id")
        session = store.find(given.get("session_id"))
        if session.is_quickly_scored(index):  # a thread would wait for its turn far longer
            return JSONAnswer(session.result(index))
        return JSONAnswer(await run_in_threadpool(session.result, index))

    async def sessions(request: Request) -> Response:
        parameters(request)
        return JSONAnswer(
            {**_about(store), "sessions": [session.summary() for session in store.all()]}
        )

    async def live(request: Request) -> Response:
        page = files("stt_ru.simultaneous.server").joinpath("live.html").read_text("utf-8")
        return HTMLResponse(page)

    async def document(request: Request) -> Response:
        return JSONAnswer(openapi_document(store.corpus.data_type))

    def guarded(handler: _Handler) -> _Handler:
        async def checked(request: Request) -> Response:
            check_token(request, token)
            return await handler(request)

        return checked

    routes = [
        Route("/", guarded(root), methods=["GET", "POST"]),
        Route("/src", guarded(source), methods=["GET"]),
        Route("/hypo", guarded(hypothesis), methods=["PUT"]),
        Route("/result", guarded(result), methods=["GET"]),
        Route("/sessions", guarded(sessions), methods=["GET"]),
        Route("/live", live, methods=["GET"]),
        Route("/openapi.json", guarded(document), methods=["GET"]),
    ]
    for route in routes:  # HEAD would read the source on, and throw it away
        (route.methods or set()).discard("HEAD")
    app = Starlette(
        routes=routes,
        exception_handlers={
            SttRuError: _our_error,
            HTTPException: _http_error,
            ClientDisconnect: _gone,
            Exception: _unforeseen,
        },
        lifespan=_lifespan(store),
    )
    app.router.redirect_slashes = False
    return app


def _about(store: SessionStore) -> dict[str, Any]:
    return {"num_sentences": len(store.corpus), "data_type": store.corpus.data_type}


def parameters(request: Request, *known: str) -> dict[str, str]:
    """The query's parameters.

    Raises:
        BadRequestError: If one is unknown, which may be a misspelt one, or is given twice.
    """
    given: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        if name not in known:
            there = f"есть {', '.join(known)}" if known else "здесь их нет"
            raise BadRequestError(f"неизвестный параметр «{name[:40]}»: {there}")
        if name in given:
            raise BadRequestError(f"параметр {name} указан дважды")
        given[name] = value
    return given


def instance_id(given: dict[str, str]) -> int:
    """The instance that a request is about.

    Raises:
        BadRequestError: If it is not given, or is no whole number.
    """
    index = whole(given, "instance_id")
    if index is None:
        raise BadRequestError("не указан instance_id: номер примера от 0")
    return index


def whole(given: dict[str, str], name: str) -> int | None:
    """A whole number from 0, None if it is not given.

    Raises:
        BadRequestError: If it is something else.
    """
    return _parsed(given, name, _whole, "целое число от 0")


def number(given: dict[str, str], name: str) -> float | None:
    """A finite number, None if it is not given.

    Raises:
        BadRequestError: If it is something else.
    """
    return _parsed(given, name, _finite, "число")


def _parsed(
    given: dict[str, str], name: str, parse: Callable[[str], T | None], needed: str
) -> T | None:
    text = given.get(name)
    if text is None:
        return None
    value = parse(text)
    if value is None:
        raise BadRequestError(f"{name}={text[:40]}: нужно {needed}")
    return value


def _whole(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 18 else None


def _finite(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and text.isascii() and "_" not in text else None


async def body_text(request: Request, timeout_s: float) -> str:
    """The body as text.

    Raises:
        BodyTooLargeError: If it is longer than `MAX_BODY_BYTES`, said before it is all received.
        BodyLateError: If it does not arrive in time.
        BadRequestError: If it is not UTF-8, or declared as JSON: its braces would be words.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind.endswith("json"):
        raise BadRequestError(
            f"тело – {kind}, а нужны сами слова: текст в UTF-8 через пробел, с Content-Type: "
            "text/plain или без него"
        )
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and (len(announced) > 18 or int(announced) > MAX_BODY_BYTES):
        raise _too_large()
    data = bytearray()
    try:
        async with asyncio.timeout(timeout_s):
            async for piece in request.stream():
                data += piece
                if len(data) > MAX_BODY_BYTES:
                    raise _too_large()
    except TimeoutError as error:
        raise BodyLateError(f"тело запроса не пришло за {timeout_s:g} с") from error
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise BadRequestError(
            f"тело не в UTF-8: байт 0x{data[error.start]:02X} на месте {error.start}"
        ) from error


def _too_large() -> BodyTooLargeError:
    return BodyTooLargeError(f"тело больше {MAX_BODY_BYTES} байт не принимается")


def check_token(request: Request, token: str | None) -> None:
    """Let a request with the right token through.

    Raises:
        UnauthorizedError: If it has none, or another one.
    """
    if token is None:
        return
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    # Header values reach us as Latin-1 whatever they are.
    is_right = hmac.compare_digest(given.strip().encode("latin-1"), token.encode())
    if scheme.lower() != "bearer" or not is_right:
        raise UnauthorizedError("нужен заголовок Authorization: Bearer с токеном сервера")


async def _our_error(request: Request, error: Exception) -> Response:
    headers = {}
    status = 500
    if isinstance(error, ProtocolError):
        status = error.status
        if error.closes:
            headers["Connection"] = "close"
    if isinstance(error, UnauthorizedError):
        headers["WWW-Authenticate"] = "Bearer"
    return JSONAnswer({"error": str(error)}, status, headers)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    sentences = {
        404: f"нет пути {request.url.path[:80]}; описание: /openapi.json",
        405: f"метод {request.method} здесь не принимается",
    }
    sentence = sentences.get(error.status_code, str(error.detail))
    return JSONAnswer({"error": sentence}, error.status_code, dict(error.headers or {}))


async def _gone(request: Request, error: Exception) -> Response:
    return JSONAnswer({"error": "клиент ушёл, не дослав тело"}, 400)  # nobody reads it


async def _unforeseen(request: Request, error: Exception) -> Response:
    logger.error("%s %s", request.method, request.url.path, exc_info=error)
    return JSONAnswer({"error": "внутренняя ошибка сервера"}, 500)


def _lifespan(
    store: SessionStore,
) -> Callable[[Starlette], contextlib.AbstractAsyncContextManager[None]]:
    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async def forget() -> None:
            while True:
                await asyncio.sleep(_FORGET_EVERY_S)
                store.forget_idle()

        task = asyncio.create_task(forget())
        yield
        task.cancel()

    return lifespan


__all__ = ["MAX_BODY_BYTES", "make_app"]
