"""A client of ``stt-ru serve`` on the standard library, and a local agent run against it."""

from __future__ import annotations

import http.client
import json
import logging
import socket
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import urlencode

from stt_ru.defaults import SERVER_ADDRESS, SERVER_PORT
from stt_ru.errors import SttRuError, sentence_of, system_reason
from stt_ru.simultaneous.core.instance import OutputError
from stt_ru.simultaneous.core.segments import (
    END_OF_SENTENCE,
    EmptySegment,
    Segment,
    SpeechSegment,
    TextSegment,
)
from stt_ru.simultaneous.run.evaluator import (
    AgentError,
    EvaluationOptions,
    EvaluationProgress,
    check_agent,
    index_range,
    run_instance,
    segment_size_for,
)

if TYPE_CHECKING:
    from stt_ru.simultaneous.agents import GenericAgent
    from stt_ru.simultaneous.core.segments import DataType

TIMEOUT_S: Final = 60.0

logger = logging.getLogger(__name__)


class RemoteError(SttRuError):
    """The server could not be reached, or refused.

    Attributes:
        status: Of its answer; None when there was none.
    """

    def __init__(self, text: str, status: int | None = None) -> None:
        super().__init__(text)
        self.status = status


class RemoteSession:
    """One evaluation session at a server.

    Args:
        address: Name or address of the server.
        port: Its port.
        token: Its token; None for none.
        timeout_s: Seconds to wait for an answer.

    Attributes:
        data_type: What is read.
        num_sentences: Instances there are.
        session_id: Of the session.

    Raises:
        RemoteError: If the server cannot be reached or starts no session.
    """

    def __init__(
        self,
        address: str = SERVER_ADDRESS,
        port: int = SERVER_PORT,
        *,
        token: str | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._place = f"{address}:{port}"
        self._headers: dict[str, str] = {}
        if token:  # http.client sends Latin-1, the server takes UTF-8
            self._headers["Authorization"] = f"Bearer {token}".encode().decode("latin-1")
        self._connection = http.client.HTTPConnection(address, port, timeout=timeout_s)
        started = self._ask("POST", "/")
        self.session_id: str = started["session_id"]
        self.num_sentences: int = started["num_sentences"]
        self.data_type: DataType = started["data_type"]

    def read(self, instance_id: int, segment_size: int | None = None) -> dict[str, Any]:
        """The next piece of a source, as the protocol has it.

        Args:
            instance_id: The instance, from 0.
            segment_size: Ms of audio; None for the server's default, and for text.
        """
        query: dict[str, Any] = {"instance_id": instance_id}
        if segment_size is not None:
            query["segment_size"] = segment_size
        return self._ask("GET", "/src", query)

    def write(self, instance_id: int, words: str) -> dict[str, Any]:
        """Write words to the hypothesis; ``</s>`` ends it."""
        return self._ask("PUT", "/hypo", {"instance_id": instance_id}, words.encode())

    def result(self, instance_id: int | None = None) -> dict[str, Any]:
        """Scores of what is finished, or of one instance."""
        query = {} if instance_id is None else {"instance_id": instance_id}
        return self._ask("GET", "/result", query)

    def close(self) -> None:
        """Close the connection; the session goes on at the server."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _close_if_left(self) -> None:
        """Let the next request connect anew when the server has closed the idle connection.

        An agent may compute for longer than a server keeps a connection.
        """
        connected: socket.socket | None = self._connection.sock
        if connected is None:
            return
        timeout = connected.gettimeout()
        try:
            connected.setblocking(False)
            connected.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            connected.settimeout(timeout)
        except OSError:
            self._connection.close()
        else:  # its end, or something that nobody has asked for
            self._connection.close()

    def _ask(
        self, method: str, path: str, query: dict[str, Any] | None = None, body: bytes | None = None
    ) -> dict[str, Any]:
        query = dict(query or {})
        if path != "/":
            query["session_id"] = self.session_id
        target = f"{path}?{urlencode(query)}" if query else path
        headers = dict(self._headers)
        if body is not None:
            headers["Content-Type"] = "text/plain; charset=utf-8"
        try:
            self._close_if_left()
            self._connection.request(method, target, body, headers)
            response = self._connection.getresponse()
            data = response.read()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()  # an answer that is half read must not be taken for the next
            raise RemoteError(f"сервер {self._place} не отвечает: {_why(error)}") from error
        try:
            answer = json.loads(data)
        except ValueError as error:
            raise RemoteError(
                f"сервер {self._place} ответил не JSON ({response.status}): это не stt-ru serve?",
                response.status,
            ) from error
        if not isinstance(answer, dict) or response.status != 200:
            reason = answer.get("error") if isinstance(answer, dict) else None
            raise RemoteError(
                f"сервер {self._place}, {method} {path}: {reason or response.status}",
                response.status,
            )
        return answer


_REASONS: Final = {  # why a server does not answer
    "ECONNREFUSED": "на этом порту никто не слушает; запустите stt-ru serve",
    "ECONNRESET": "он оборвал соединение",
    "ECONNABORTED": "он оборвал соединение",
    "EPIPE": "он оборвал соединение",
}


def _why(error: OSError | http.client.HTTPException) -> str:
    if isinstance(error, (http.client.RemoteDisconnected, http.client.IncompleteRead)):
        return "он оборвал соединение"
    if isinstance(error, TimeoutError):
        return "время ожидания вышло"
    if isinstance(error, socket.gaierror):
        return "нет такого адреса"
    if isinstance(error, OSError):
        return system_reason(error, _REASONS)
    return f"он говорит не на HTTP ({type(error).__name__})"


class RemoteInstance:
    """An instance of a server as the evaluator's loop wants it."""

    def __init__(self, session: RemoteSession, index: int) -> None:
        self.finish_prediction = False
        self.source_finished = False
        self._session = session
        self._index = index

    def send_source(self, segment_size: float) -> Segment:
        """The next piece of the source; empty and finished after the last."""
        if self.source_finished:
            return EmptySegment(finished=True)
        if self._session.data_type == "text":
            return self._words(max(1, round(segment_size)))
        answer = self._session.read(self._index, max(1, round(segment_size)))
        self.source_finished = bool(answer["finished"])
        samples = [sample / 32768 for sample in answer["segment"]]
        return SpeechSegment(
            index=answer["segment_id"],
            content=samples,
            sample_rate=answer["sample_rate"],
            finished=self.source_finished,
            is_empty=not samples,
        )

    def _words(self, most: int) -> Segment:
        words: list[str] = []
        index = 0
        while len(words) < most and not self.source_finished:
            answer = self._session.read(self._index)
            index = answer["segment_id"]
            if answer["segment"] == END_OF_SENTENCE:
                self.source_finished = True
            else:
                words.append(answer["segment"])
        return TextSegment(
            index=index,
            content=" ".join(words),
            finished=self.source_finished,
            is_empty=not words,
        )

    def receive_prediction(self, segment: Segment) -> None:
        """Send what the agent wrote."""
        if isinstance(segment, SpeechSegment) and not segment.is_empty:
            raise OutputError("агент написал речь, а сервер принимает текст")
        words = segment.content.split() if isinstance(segment, TextSegment) else []
        ends = segment.finished or END_OF_SENTENCE in words
        if ends and END_OF_SENTENCE not in words:
            words.append(END_OF_SENTENCE)
        if words:
            self._session.write(self._index, " ".join(words))
        self.finish_prediction = ends


@dataclass(frozen=True, slots=True)
class RemoteEvaluation:
    """What a run against a server came to.

    Attributes:
        result: The server's answer to ``/result``.
        errors: Why instances failed, by index, sentences in Russian.
    """

    result: dict[str, Any]
    errors: dict[int, str] = field(default_factory=dict)


def evaluate_remotely(
    agent: GenericAgent,
    session: RemoteSession,
    options: EvaluationOptions,
    progress: EvaluationProgress | None = None,
) -> RemoteEvaluation:
    """Run a local agent on all instances of a server.

    An instance in which the agent fails stays unfinished at the server, and the next one follows.

    Args:
        agent: Reads what the server has.
        session: At the server.
        options: Of these the segment size, the range of instances and the limit count.
        progress: Told how many instances of how many are done.

    Raises:
        UsageError: If the agent reads something else than the server has.
        RemoteError: If the server fails.
    """
    check_agent(agent, session.data_type, "text")
    size = segment_size_for(session.data_type, options.source_segment_size)
    indices = index_range(session.num_sentences, options.start_index, options.end_index)
    errors: dict[int, str] = {}
    for done, index in enumerate(indices):
        try:
            run_instance(agent, RemoteInstance(session, index), size, options.max_tail_steps)
        except RemoteError as error:
            raise RemoteError(
                f"{error}; законченные примеры остались у сервера в сессии {session.session_id}",
                error.status,
            ) from error
        except (AgentError, OutputError) as error:
            errors[index] = str(error)
        except Exception as error:
            if not errors:
                logger.warning("пример %d: агент завершился ошибкой", index, exc_info=True)
            errors[index] = sentence_of(error)
        if progress is not None:
            progress(done + 1, len(indices), None)
    return RemoteEvaluation(session.result(), errors)
