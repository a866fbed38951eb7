"""Sessions side by side, idle ones, and those that survive the process."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from stt_ru.errors import UsageError
from stt_ru.simultaneous.core.dataset import TextDataset
from stt_ru.simultaneous.run.evaluator import score_log
from stt_ru.simultaneous.run.log import read_log
from stt_ru.simultaneous.scorers import ALScorer, WERScorer
from stt_ru.simultaneous.server.corpus import Corpus
from stt_ru.simultaneous.server.errors import (
    NotSavedError,
    OutOfOrderError,
    TooManySessionsError,
    UnknownError,
)
from stt_ru.simultaneous.server.store import SessionStore
from tests.fakes import FakeClock
from tests.simultaneous.server.data import SETTINGS, TEXTS, files_of, speech


def store(output: Path | None = None, data: TextDataset = TEXTS, **more: object) -> SessionStore:
    times = itertools.count(1_000_000)
    return SessionStore(
        Corpus(data), SETTINGS, output=output, time_of_day=lambda: next(times), **more  # type: ignore[arg-type]  # keywords
    )  # fmt: skip


def test_sessions_do_not_touch_one_another() -> None:
    sessions = store()
    one, other = sessions.start(), sessions.start()
    one.read(0)
    one.write(0, "да </s>")

    assert other.read(0)["segment_id"] == 0
    assert (one.finished, other.finished) == (1, 0)
    assert one.session_id != other.session_id


def test_without_a_name_the_newest_session_is_meant_and_the_first_request_starts_one() -> None:
    sessions = store()
    implicit = sessions.find()
    assert sessions.find() is implicit
    newest = sessions.start()

    assert sessions.find() is newest
    assert sessions.find(implicit.session_id) is implicit
    assert sessions.all() == [newest, implicit]


def test_an_unknown_session_is_named() -> None:
    with pytest.raises(UnknownError, match="нет: она истекла"):
        store().find("нет")


def test_too_many_sessions_are_refused_until_one_is_idle() -> None:
    clock = FakeClock()
    sessions = store(max_sessions=2, clock=clock, idle_s=60)
    first = sessions.start()
    clock.advance(50)
    sessions.start()
    with pytest.raises(TooManySessionsError, match="сессий уже 2"):
        sessions.start()
    clock.advance(20)
    sessions.start()

    with pytest.raises(UnknownError):
        sessions.find(first.session_id)


def test_a_session_in_use_is_not_idle() -> None:
    clock = FakeClock()
    sessions = store(clock=clock, idle_s=60)
    session = sessions.start()
    for _ in range(5):
        clock.advance(50)
        assert sessions.find(session.session_id) is session
    clock.advance(61)

    assert sessions.find() is not session


def test_what_is_finished_survives_the_process(tmp_path: Path) -> None:
    before = store(tmp_path)
    session = before.start()
    session.read(0)
    session.write(0, "холодно </s>")
    result = session.result()

    again = store(tmp_path).find()

    assert again.session_id == session.session_id
    assert again.result() == result
    assert again.words == session.words
    with pytest.raises(OutOfOrderError, match="закончена"):
        again.write(0, "ещё")
    again.read(1)
    again.write(1, "иди </s>")
    assert store(tmp_path).find().finished == 2


def test_an_instance_that_was_being_done_is_not_gone_on_with_silently(tmp_path: Path) -> None:
    session = store(tmp_path).start()
    session.read(0)
    session.read(0)
    session.write(0, "холод")

    again = store(tmp_path).find()

    requests: list[Callable[[], object]] = [
        lambda: again.read(0),
        lambda: again.write(0, "но"),
        lambda: again.read(0, offset=2),
    ]
    for request in requests:
        with pytest.raises(OutOfOrderError, match="перезапущен"):
            request()
    assert again.read(0, offset=0)["segment"] == "it"
    again.write(0, "холодно </s>")
    assert again.records()[0].delays == (1,)
    assert again.read(1)["segment"] == "go"


def test_a_line_that_was_being_written_is_left_out(tmp_path: Path) -> None:
    session = store(tmp_path).start()
    for index in (0, 1):
        session.write(index, "да </s>")
    log = tmp_path / session.session_id / "instances.log"
    whole = log.read_bytes()
    log.write_bytes(whole[:-20])

    again = store(tmp_path).find()

    assert again.finished == 1
    again.read(1, offset=0)
    again.write(1, "да </s>")
    assert list(read_log(log, latency_unit="word")) == [0, 1]


def test_a_session_whose_folder_was_being_made_is_left_out(tmp_path: Path) -> None:
    (tmp_path / ("0" * 16)).mkdir()
    (tmp_path / "заметки").mkdir()

    assert store(tmp_path).all() == []


def test_sessions_of_other_data_are_refused(tmp_path: Path) -> None:
    store(tmp_path).start()

    with pytest.raises(UsageError, match="других данных"):
        store(tmp_path, TextDataset(["а"], ["б"]))


def test_a_spoilt_session_file_is_named(tmp_path: Path) -> None:
    session = store(tmp_path).start()
    (tmp_path / session.session_id / "session.json").write_text("{")

    with pytest.raises(UsageError, match=r"session\.json не читается"):
        store(tmp_path)


def test_the_folder_of_a_session_is_scored_as_any_run(tmp_path: Path) -> None:
    session = store(tmp_path).start()
    session.read(0)
    session.write(0, "холодно </s>")
    folder = tmp_path / session.session_id
    scores = score_log(
        read_log(folder / "instances.log", latency_unit="word"),
        {"WER": WERScorer()},
        {"AL": ALScorer()},
    )

    assert [score.value for score in scores.all] == [0, 1]
    assert files_of(folder) == {"instances.log", "session.json", "started.log"}
    about = json.loads((folder / "session.json").read_text())
    assert about["created_at"] == 1_000_000


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(UsageError):
        store(tmp_path)


def test_a_session_whose_folder_has_gone_says_so_and_keeps_its_state(tmp_path: Path) -> None:
    import shutil

    sessions = store(tmp_path)
    session = sessions.start()
    session.read(0)
    shutil.rmtree(tmp_path)
    with pytest.raises(NotSavedError):
        session.write(0, "да </s>")
    with pytest.raises(NotSavedError):
        sessions.start()

    assert session.finished == 0
    assert session.result(0)["delays"] == []


def test_a_recording_is_decoded_once_for_all_sessions_and_the_cache_is_bounded() -> None:
    data = speech(1600, 1600, 1600)
    corpus = Corpus(data, cache_bytes=2 * 1600 * 2)
    sessions = SessionStore(corpus, SETTINGS)
    for _ in range(3):
        sessions.start().read(0)
    assert data.decoded == [0]
    for index in (1, 2, 0):
        sessions.find().read(index)

    assert data.decoded == [0, 1, 2, 0]
    assert corpus.is_ready(0)
    assert not corpus.is_ready(1)
