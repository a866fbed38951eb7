"""A real server in a thread on a free port, and a plain client."""

from __future__ import annotations

import http.client
import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stt_ru.simultaneous.server.running import bind, make_server

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from stt_ru.simultaneous.server.store import SessionStore


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Running:
    """A server that runs."""

    port: int

    def ask(
        self,
        method: str,
        target: str,
        body: bytes | str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            data = body.encode() if isinstance(body, str) else body
            connection.request(method, target, data, dict(headers or {}))
            response = connection.getresponse()
            return Answer(response.status, dict(response.getheaders()), response.read())
        finally:
            connection.close()

    def get(self, target: str) -> Any:
        answer = self.ask("GET", target)
        assert answer.status == 200, answer
        return answer.json

    def put(self, target: str, body: str) -> Any:
        answer = self.ask("PUT", target, body)
        assert answer.status == 200, answer
        return answer.json


@contextmanager
def running(
    store: SessionStore, *, token: str | None = None, body_timeout_s: float = 30
) -> Iterator[Running]:
    """Run a server while the block lasts."""
    with bind("127.0.0.1", 0, token) as listening:
        server = make_server(store, token, body_timeout_s=body_timeout_s)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            started = Running(listening.getsockname()[1])
            assert started.ask("GET", "/live").status == 200  # waits: the socket listens already
            yield started
        finally:
            server.should_exit = True
            thread.join(30)
