"""All sessions of a server: starting, finding, forgetting, and keeping them on disk."""

from __future__ import annotations

import json
import logging
import re
import secrets
import threading
import time
from typing import TYPE_CHECKING, Any, Final

from stt_ru.clock import SYSTEM_CLOCK
from stt_ru.defaults import IDLE_S, MAX_SESSIONS
from stt_ru.errors import UsageError
from stt_ru.files.writing import append_whole, make_folder, reason, write_whole
from stt_ru.simultaneous.run.log import LOG_NAME, drop_torn_line, log_line, read_log
from stt_ru.simultaneous.server.errors import NotSavedError, TooManySessionsError, UnknownError
from stt_ru.simultaneous.server.session import Journal, NoJournal, Session, SessionSettings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from stt_ru.clock import Clock
    from stt_ru.simultaneous.core.record import InstanceRecord
    from stt_ru.simultaneous.server.corpus import Corpus

SESSION_FILE: Final = "session.json"
STARTED_FILE: Final = "started.log"

_SESSION_ID = re.compile(r"[0-9a-f]{16}")

logger = logging.getLogger(__name__)


def _new_id() -> str:
    return secrets.token_hex(8)


class SessionStore:
    """The sessions of one server; safe to use from threads.

    Args:
        corpus: What all sessions read.
        settings: How all are scored.
        output: Folder with a folder a session; None to keep nothing.
        clock: Wall time.
        max_sessions: Sessions at a time.
        idle_s: Seconds after which a session that nobody uses is forgotten; its folder stays.
        new_id: Makes names of sessions.
        time_of_day: Seconds since the epoch.

    Raises:
        UsageError: If ``output`` cannot be used, or holds sessions of other data.
    """

    def __init__(
        self,
        corpus: Corpus,
        settings: SessionSettings,
        *,
        output: Path | None = None,
        clock: Clock = SYSTEM_CLOCK,
        max_sessions: int = MAX_SESSIONS,
        idle_s: float = IDLE_S,
        new_id: Callable[[], str] = _new_id,
        time_of_day: Callable[[], float] = time.time,
    ) -> None:
        self.corpus = corpus
        self.settings = settings
        self._output = output
        self._clock = clock
        self._max_sessions = max_sessions
        self._idle_s = idle_s
        self._new_id = new_id
        self._time_of_day = time_of_day
        self._lock = threading.RLock()
        self._sessions: dict[str, Session] = {}  # in order of their start
        if output is not None:
            self._restore(output)

    def start(self) -> Session:
        """Start a session, which is then the newest.

        Raises:
            TooManySessionsError: If there are too many.
            NotSavedError: If its folder cannot be made.
        """
        with self._lock:
            self.forget_idle()
            if len(self._sessions) >= self._max_sessions:
                raise TooManySessionsError(
                    f"сессий уже {len(self._sessions)}, больше не помещается; повторите позже"
                )
            session_id = self._new_id()
            created_at = self._time_of_day()
            session = Session(
                session_id,
                self.corpus,
                self.settings,
                clock=self._clock,
                created_at=created_at,
                journal=self._new_journal(session_id, created_at),
            )
            self._sessions[session_id] = session
            return session

    def find(self, session_id: str | None = None) -> Session:
        """The session of this name, or the newest; the first request of all starts one.

        Raises:
            UnknownError: If no session has the name.
            TooManySessionsError: If one has to be started and there are too many.
        """
        with self._lock:
            if session_id is None:
                session = self._newest() or self.start()
            else:
                self._drop_if_idle(session_id)
                if session_id not in self._sessions:
                    raise UnknownError(
                        f"сессии {session_id[:40]} нет: она истекла или начата на другом сервере"
                    )
                session = self._sessions[session_id]
            session.touch()
            return session

    def _newest(self) -> Session | None:
        while self._sessions:
            newest = next(reversed(self._sessions))
            if not self._drop_if_idle(newest):
                return self._sessions[newest]
        return None

    def _drop_if_idle(self, session_id: str) -> bool:
        session = self._sessions.get(session_id)
        if session is None or session.idle_s <= self._idle_s:
            return False
        del self._sessions[session_id]
        return True

    def all(self) -> list[Session]:
        """All sessions, the newest first."""
        with self._lock:
            self.forget_idle()
            return list(reversed(self._sessions.values()))

    def forget_idle(self) -> None:
        """Drop the sessions that nobody has used for long."""
        with self._lock:
            for session_id in list(self._sessions):
                self._drop_if_idle(session_id)

    def _new_journal(self, session_id: str, created_at: float) -> Journal:
        if self._output is None:
            return NoJournal()
        folder = self._output / session_id
        about = {
            "session_id": session_id,
            "created_at": created_at,
            "data": self.corpus.dataset.fingerprint,
            "latency_unit": self.settings.latency_unit,
        }
        try:
            folder.mkdir()
            write_whole(folder / SESSION_FILE, [json.dumps(about), "\n"])
        except OSError as error:
            raise NotSavedError(f"сессия не начата: {folder}: {reason(error)}") from error
        return FileJournal(folder)

    def _restore(self, output: Path) -> None:
        try:
            make_folder(output, parents=True)
            folders = [path for path in output.iterdir() if _SESSION_ID.fullmatch(path.name)]
        except OSError as error:
            raise UsageError(f"--output {output}: {reason(error)}") from error
        found: list[tuple[float, Session]] = []
        for folder in folders:
            about = _read_about(folder)
            if about is None:
                continue
            self._check_same(folder, about)
            found.append((about["created_at"], self._restored(folder, about)))
        found.sort(key=lambda pair: (pair[0], pair[1].session_id))
        for _, session in found[-self._max_sessions :]:
            self._sessions[session.session_id] = session

    def _check_same(self, folder: Path, about: dict[str, Any]) -> None:
        ours = {
            "data": self.corpus.dataset.fingerprint,
            "latency_unit": self.settings.latency_unit,
        }
        for key, value in ours.items():
            if about.get(key) != value:
                what = "других данных" if key == "data" else f"другого {key}"
                raise UsageError(
                    f"--output {folder.parent}: в нём сессии {what} ({folder.name}); укажите "
                    "другой каталог"
                )

    def _restored(self, folder: Path, about: dict[str, Any]) -> Session:
        log = folder / LOG_NAME
        done: dict[int, InstanceRecord] = {}
        if log.exists():
            drop_torn_line(log)
            done = read_log(log, latency_unit=self.settings.latency_unit)
        started: set[int] = set()
        started_file = folder / STARTED_FILE
        if started_file.exists():
            lines = started_file.read_text("ascii", "replace").split("\n")
            started = {int(line) for line in lines if line.isdecimal()}
        return Session(
            about["session_id"],
            self.corpus,
            self.settings,
            clock=self._clock,
            created_at=about["created_at"],
            journal=FileJournal(folder),
            done=done,
            interrupted=started - set(done),
        )


class FileJournal:
    """Writes a session down in its folder, each line at once: a killed process loses none."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def started(self, index: int) -> None:
        """An instance has been touched for the first time."""
        self._append(STARTED_FILE, f"{index}\n")

    def finished(self, record: InstanceRecord) -> None:
        """An instance is done."""
        self._append(LOG_NAME, log_line(record))

    def _append(self, name: str, line: str) -> None:
        path = self._folder / name
        try:
            append_whole(path, line)
        except OSError as error:
            logger.exception("journal %s", path)
            raise NotSavedError(f"результат не записан: {reason(error)}") from error


def _read_about(folder: Path) -> dict[str, Any] | None:
    """What a session's folder says of it; None if it was being made when the process died."""
    try:
        about: dict[str, Any] = json.loads((folder / SESSION_FILE).read_text("utf-8"))
        float(about["created_at"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"--output: {folder / SESSION_FILE} не читается: {error}") from error
    about["session_id"] = folder.name
    return about
