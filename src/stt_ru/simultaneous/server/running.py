"""A server as a process: its address, its token, its life."""

from __future__ import annotations

import ipaddress
import socket
from typing import TYPE_CHECKING, Any, Final

from stt_ru.errors import MissingExtraError, UsageError, system_reason

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from stt_ru.simultaneous.core.dataset import Dataset
    from stt_ru.simultaneous.core.record import LatencyUnit
    from stt_ru.simultaneous.scorers import ScorerOptions
    from stt_ru.simultaneous.server.store import SessionStore

TOKEN_VARIABLE: Final = "STT_RU_TOKEN"
BODY_TIMEOUT_S: Final = 30.0
_BACKLOG: Final = 2048
_KEEP_ALIVE_S: Final = 75  # longer than clients keep a connection, so that they close it first

_REASONS: Final = {  # why a port cannot be had
    "EADDRINUSE": "порт занят другой программой",
    "EACCES": "нет прав на этот порт",
    "EADDRNOTAVAIL": "это не адрес этого компьютера",
}


def check_installed() -> None:
    """Make sure that the web server is there.

    Raises:
        MissingExtraError: If the extra ``server`` is not installed.
    """
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("stt-ru serve", "server") from error


def make_store(
    dataset: Dataset,
    quality_metrics: Sequence[str],
    latency_metrics: Sequence[str],
    options: ScorerOptions,
    *,
    latency_unit: LatencyUnit,
    output: Path | None,
    max_sessions: int,
    idle_s: float,
) -> SessionStore:
    """The sessions of a server that scores by these measures.

    Args:
        dataset: What is handed out.
        quality_metrics: Names.
        latency_metrics: Names.
        options: How their scorers are made.
        latency_unit: What has a delay.
        output: As of `SessionStore`, like the rest.
        max_sessions: Sessions at a time.
        idle_s: Seconds after which a session is forgotten.

    Raises:
        UsageError: If a name is unknown, or ``output`` cannot be used.
    """
    from stt_ru.simultaneous.scorers import make_latency_scorers, make_quality_scorers
    from stt_ru.simultaneous.server.corpus import Corpus
    from stt_ru.simultaneous.server.session import SessionSettings
    from stt_ru.simultaneous.server.store import SessionStore

    if "ASR_BLEU" in quality_metrics:
        raise UsageError("ASR_BLEU слушает речь, а серверу присылают текст")
    settings = SessionSettings(
        quality_scorers=make_quality_scorers(quality_metrics, options),
        latency_scorers=make_latency_scorers(latency_metrics, options),
        latency_unit=latency_unit,
    )
    return SessionStore(
        Corpus(dataset), settings, output=output, max_sessions=max_sessions, idle_s=idle_s
    )


def bind(host: str, port: int, token: str | None) -> socket.socket:
    """A socket that listens, or why there can be none.

    Args:
        host: A name or an address of this computer.
        port: 0 for any free one.
        token: None for none; then only loopback addresses are bound.

    Raises:
        UsageError: If the address is not this computer's, is taken, or is open to others and there
            is no token.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise UsageError(f"--host {host}: нет такого адреса") from error
    family, _, _, _, address = found[0]
    if token is None and not ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback:
        raise UsageError(
            f"--host {host}: к этому адресу могут обратиться другие; задайте токен в переменной "
            f"{TOKEN_VARIABLE}, клиенты передают его в заголовке Authorization: Bearer"
        )
    try:
        return socket.create_server(address[:2], family=family, backlog=_BACKLOG)
    except OSError as error:
        raise UsageError(
            f"--host {host} --port {port}: {system_reason(error, _REASONS)}"
        ) from error


def address_of(listening: socket.socket) -> str:
    """Where a browser finds the server, e.g. ``http://127.0.0.1:12321``."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def make_server(
    store: SessionStore, token: str | None, *, body_timeout_s: float = BODY_TIMEOUT_S
) -> Any:
    """A uvicorn server, to be run on a socket of `bind`; all that it needs is loaded.

    Args:
        store: Its sessions.
        token: Demanded of each request; None for none.
        body_timeout_s: Seconds in which a body must have arrived.
    """
    import uvicorn

    from stt_ru.simultaneous.server.app import make_app

    store.corpus.prepare()
    config = uvicorn.Config(
        make_app(store, token=token, body_timeout_s=body_timeout_s),
        access_log=False,
        loop="asyncio",  # with uvloop 200 clients at once waited for seconds to be connected
        proxy_headers=False,  # nothing here asks who the client is
        log_level="error",  # its warnings are of clients that send nonsense
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=3,
        server_header=False,
        ws="none",
    )
    return uvicorn.Server(config)
