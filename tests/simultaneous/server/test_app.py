"""The protocol over real sockets: answers, errors, and clients that misbehave."""

from __future__ import annotations

import json
import re
import shutil
import socket
import struct
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from stt_ru.errors import UsageError
from stt_ru.simultaneous.server.app import MAX_BODY_BYTES
from stt_ru.simultaneous.server.corpus import Corpus
from stt_ru.simultaneous.server.running import bind
from stt_ru.simultaneous.server.store import SessionStore
from tests.fakes import FakeClock
from tests.simultaneous.server.data import SETTINGS, TEXTS, speech
from tests.simultaneous.server.running import Running, running

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="module")
def texts() -> Iterator[Running]:
    with running(SessionStore(Corpus(TEXTS), SETTINGS)) as server:
        yield server


@pytest.fixture(scope="module")
def sounds() -> Iterator[Running]:
    with running(SessionStore(Corpus(speech(400, 16_000, -1)), SETTINGS)) as server:
        yield server


@pytest.fixture
def session(texts: Running) -> str:
    answer = texts.ask("POST", "/")
    assert answer.status == 200
    return f"session_id={answer.json['session_id']}"


def test_a_plain_client_goes_through_a_whole_evaluation() -> None:
    with running(SessionStore(Corpus(TEXTS), SETTINGS)) as server:
        assert server.get("/") == {"num_sentences": 3, "data_type": "text"}
        for index, hypothesis in enumerate(["холодно", "иди", ""]):
            while True:
                answer = server.get(f"/src?instance_id={index}")
                if answer["segment"] == "</s>":
                    break
            for word in [*hypothesis.split(), "</s>"]:
                server.put(f"/hypo?instance_id={index}", word)
        result = server.get("/result")
        (summary,) = server.get("/sessions")["sessions"]

    assert result["Quality"] == {"WER": 0}
    assert result["Latency"]["AP"] == 1
    assert result["finished"] == result["total"] == 3
    assert (summary["finished"], summary["wer"]) == (3, 0)


def test_speech_is_numbers_with_their_rate(sounds: Running) -> None:
    sounds.ask("POST", "/")
    first = sounds.get("/src?instance_id=0")
    second = sounds.get("/src?instance_id=0&segment_size=301")

    assert first == {
        "instance_id": 0, "segment_id": 0, "segment": list(range(160)),
        "sample_rate": 16_000, "dtype": "int16", "finished": False,
    }  # fmt: skip
    assert (len(second["segment"]), second["finished"]) == (240, True)


def test_a_recording_that_cannot_be_read_is_said(sounds: Running) -> None:
    answer = sounds.ask("GET", "/src?instance_id=2")

    assert answer.status == 500
    assert answer.json == {"error": "запись 2.wav не читается: файл испорчен"}


def test_the_answers_are_json_in_letters(texts: Running, session: str) -> None:
    answer = texts.ask("PUT", f"/hypo?instance_id=0&{session}", "да")

    assert answer.headers["content-type"] == "application/json"
    assert answer.json == {
        "instance_id": 0, "words": 1, "prediction_length": 1, "finished": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("method", "target", "status", "sentence"),
    [
        ("GET", "/src", 400, "не указан instance_id"),
        ("GET", "/src?instance_id=", 400, "нужно целое число"),
        ("GET", "/src?instance_id=one", 400, "instance_id=one"),
        ("GET", "/src?instance_id=-1", 400, "нужно целое число"),
        ("GET", "/src?instance_id=1.0", 400, "нужно целое число"),
        ("GET", "/src?instance_id=٣", 400, "нужно целое число"),
        ("GET", "/src?instance_id=1&instance_id=2", 400, "указан дважды"),
        ("GET", "/src?instance_id=0&segmentsize=10", 400, "неизвестный параметр «segmentsize»"),
        ("GET", "/src?instance_id=0&segment_size=nan", 400, "нужно число"),
        ("GET", "/src?instance_id=0&offset=-1", 400, "offset=-1"),
        ("GET", "/src?instance_id=7", 404, "примера 7 нет: примеров 3"),
        ("GET", "/src?instance_id=99999999999999999999", 400, "нужно целое число"),
        ("GET", "/src?instance_id=0&session_id=abc", 404, "сессии abc нет"),
        ("GET", "/src?instance_id=0&offset=2", 409, "offset=2"),
        ("PUT", "/hypo", 400, "не указан instance_id"),
        ("GET", "/result?instance_id=9", 404, "примера 9 нет"),
        ("GET", "/result?x=1", 400, "неизвестный параметр"),
        ("GET", "/nowhere", 404, "нет пути /nowhere"),
        ("GET", "/src/?instance_id=0", 404, "нет пути /src/"),
        ("DELETE", "/", 405, "метод DELETE"),
        ("POST", "/src?instance_id=0", 405, "метод POST"),
        ("GET", "/hypo?instance_id=0", 405, "метод GET"),
    ],
)
def test_an_error_is_json_with_a_sentence(
    texts: Running, session: str, method: str, target: str, status: int, sentence: str
) -> None:
    from urllib.parse import quote

    answer = texts.ask(method, quote(target, safe="/?=&"), "да" if method == "PUT" else None)

    assert answer.status == status
    assert sentence in answer.json["error"]


def test_head_does_not_read_the_source_on(texts: Running, session: str) -> None:
    assert texts.ask("HEAD", f"/src?instance_id=0&{session}").status == 405
    answer = texts.ask("GET", f"/src?instance_id=0&{session}")

    assert answer.json["segment_id"] == 0
    assert answer.headers["cache-control"] == "no-store"


def test_after_the_end_a_hypothesis_is_closed(texts: Running, session: str) -> None:
    target = f"/hypo?instance_id=0&{session}"
    texts.put(target, "да </s>")

    assert texts.ask("PUT", target, "ещё").status == 409
    assert texts.get(f"/result?instance_id=0&{session}")["prediction"] == "да"


def test_ten_thousand_words_in_one_body_are_ten_thousand_words(
    texts: Running, session: str
) -> None:
    answer = texts.put(f"/hypo?instance_id=0&{session}", "слово " * 10_000)

    assert answer["prediction_length"] == 10_000


def test_a_huge_body_is_refused_before_it_has_come(texts: Running, session: str) -> None:
    with socket.create_connection(("127.0.0.1", texts.port), timeout=30) as client:
        head = f"PUT /hypo?instance_id=0&{session} HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000"
        client.sendall(head.encode() + b"\r\n\r\n" + b"a" * 1000)
        answer = client.recv(65536)

    assert b" 413 " in answer.split(b"\r\n")[0]
    assert texts.get(f"/result?instance_id=0&{session}")["prediction"] == ""


def test_a_huge_body_of_unknown_length_is_refused_too(texts: Running, session: str) -> None:
    with socket.create_connection(("127.0.0.1", texts.port), timeout=30) as client:
        head = f"PUT /hypo?instance_id=0&{session} HTTP/1.1\r\nHost: x\r\n"
        client.sendall(head.encode() + b"Transfer-Encoding: chunked\r\n\r\n")
        try:
            for _ in range(200):
                client.sendall(b"10000\r\n" + b"a" * 0x10000 + b"\r\n")
        except OSError:
            pass  # the server has closed the connection, which is its right
        assert texts.get(f"/result?instance_id=0&{session}")["prediction"] == ""


@pytest.mark.parametrize("body", [b"\xff\xfe", b"\xd0", "слово".encode("cp1251"), b"\xed\xa0\x80"])
def test_a_body_that_is_no_utf8_is_refused(texts: Running, session: str, body: bytes) -> None:
    answer = texts.ask("PUT", f"/hypo?instance_id=0&{session}", body)

    assert answer.status == 400
    assert "не в UTF-8" in answer.json["error"]


JSON = '{"text": "да"}'


@pytest.mark.parametrize(
    "kind",
    ["application/json", "Application/JSON; charset=utf-8", "text/json", "application/x+json"],
)
def test_a_body_that_is_said_to_be_json_is_refused(texts: Running, session: str, kind: str) -> None:
    target = f"/hypo?instance_id=0&{session}"
    answer = texts.ask("PUT", target, JSON, {"Content-Type": kind})

    assert answer.status == 400
    assert "нужны сами слова" in answer.json["error"]
    assert texts.get(f"/result?instance_id=0&{session}")["prediction"] == ""


@pytest.mark.parametrize("headers", [{}, {"Content-Type": "text/plain"}, {"Content-Type": "json5"}])
def test_a_body_that_only_looks_like_json_is_words(
    texts: Running, session: str, headers: dict[str, str]
) -> None:
    answer = texts.ask("PUT", f"/hypo?instance_id=0&{session}", JSON, headers)

    assert answer.json["prediction_length"] == 2


def test_a_client_that_vanishes_with_half_a_body_changes_nothing(
    texts: Running, session: str
) -> None:
    for reset in (False, True):
        client = socket.create_connection(("127.0.0.1", texts.port), timeout=30)
        head = f"PUT /hypo?instance_id=0&{session} HTTP/1.1\r\nHost: x\r\n"
        client.sendall(f"{head}Content-Length: 100\r\n\r\nпол".encode())
        if reset:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()

    assert texts.get(f"/result?instance_id=0&{session}")["prediction"] == ""
    texts.put(f"/hypo?instance_id=0&{session}", "да")


def test_half_a_body_and_then_silence_is_refused_in_time() -> None:
    store = SessionStore(Corpus(TEXTS), SETTINGS)
    with running(store, body_timeout_s=0.2) as server:
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as client:
            head = "PUT /hypo?instance_id=0 HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n"
            client.sendall(f"{head}пол".encode())
            answer = b"".join(iter(lambda: client.recv(65536), b""))  # until it is closed
        assert b" 400 " in answer.split(b"\r\n")[0]
        assert "тело запроса не пришло за 0.2 с" in answer.decode()
        assert server.get("/result?instance_id=0")["prediction"] == ""


def test_more_sessions_than_fit_are_refused_until_one_is_idle() -> None:
    clock = FakeClock()
    store = SessionStore(Corpus(TEXTS), SETTINGS, clock=clock, max_sessions=2, idle_s=60)
    with running(store) as server:
        first = server.ask("POST", "/").json["session_id"]
        server.ask("POST", "/")
        refused = server.ask("POST", "/")
        clock.advance(61)
        expired = server.ask("GET", f"/src?instance_id=0&session_id={first}")
        started = server.ask("POST", "/")

    assert (refused.status, expired.status, started.status) == (429, 404, 200)
    assert "сессий уже 2" in refused.json["error"]
    assert "она истекла" in expired.json["error"]


def test_what_could_not_be_saved_is_said_and_may_be_sent_again(tmp_path: Path) -> None:
    store = SessionStore(Corpus(TEXTS), SETTINGS, output=tmp_path)
    with running(store) as server:
        session = server.ask("POST", "/").json["session_id"]
        server.get("/src?instance_id=1")
        folder = tmp_path / session
        folder.rename(tmp_path / "away")
        refused = server.ask("PUT", "/hypo?instance_id=1", "иди </s>")
        (tmp_path / "away").rename(folder)
        server.put("/hypo?instance_id=1", "иди </s>")
        kept = server.get("/result?instance_id=1")

    assert refused.status == 507
    assert "результат не записан" in refused.json["error"]
    assert (kept["prediction"], kept["delays"]) == ("иди", [1])


def test_what_is_no_http_is_refused_and_the_server_lives(texts: Running) -> None:
    with socket.create_connection(("127.0.0.1", texts.port), timeout=30) as client:
        client.sendall(b"\x16\x03\x01 this is no HTTP\r\n\r\n")
        assert b"400" in client.recv(1000)

    assert texts.get("/")["num_sentences"] == 3


def test_two_threads_on_one_instance_get_each_word_once(sounds: Running) -> None:
    session = sounds.ask("POST", "/").json["session_id"]
    target = f"/src?instance_id=1&session_id={session}"
    heard: list[int] = []

    def read() -> None:
        heard.extend(sounds.get(target)["segment_id"] for _ in range(25))

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert sorted(heard) == list(range(100))


def test_the_live_page_and_the_openapi_document_are_there(texts: Running) -> None:
    page = texts.ask("GET", "/live")
    document = texts.get("/openapi.json")

    assert "text/html" in page.headers["content-type"]
    assert "Идущие оценки" in page.body.decode()
    assert set(document["paths"]) == {"/", "/src", "/hypo", "/result", "/sessions"}
    json.dumps(document)


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium here")
def test_a_browser_shows_each_session_with_its_figures(tmp_path: Path) -> None:
    with running(SessionStore(Corpus(TEXTS), SETTINGS)) as server:
        session = server.ask("POST", "/").json["session_id"]
        for index, words in ((0, "холодно"), (2, "")):
            server.get(f"/src?instance_id={index}")
            server.put(f"/hypo?instance_id={index}", f"{words} </s>")
        page = dump_dom(f"http://127.0.0.1:{server.port}/live", tmp_path)

    assert "Примеров: 3, источник – текст. Сессий: 1." in page
    cells = re.findall(r"<t[hd]>(?:<progress[^>]*></progress>)?([^<]*)</t[hd]>", page)
    assert cells == [
        "Сессия", "Готово", "WER, %", "AL, слов", "AP", "DAL, слов",
        session, " 2 из 3", "0.0", "1.000 (1 из 2)", "0.333 (1 из 2)", "1.000 (1 из 2)",
    ]  # fmt: skip


def dump_dom(address: str, profile: Path) -> str:
    """What a browser has made of a page once its first requests have been answered."""
    assert CHROMIUM is not None
    return subprocess.run(
        [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=1500",
         f"--user-data-dir={profile}", "--dump-dom", address],
        capture_output=True, encoding="utf-8", timeout=300, check=True,
    ).stdout  # fmt: skip


def test_a_token_is_demanded_of_all_but_the_page() -> None:
    with running(SessionStore(Corpus(TEXTS), SETTINGS), token="тайна") as server:
        for target in ("/", "/src?instance_id=0", "/result", "/sessions", "/openapi.json"):
            for given in ({}, {"Authorization": "Bearer другая".encode().decode("latin-1")}):
                answer = server.ask("GET", target, headers=given)
                assert answer.status == 401
                assert answer.headers["www-authenticate"] == "Bearer"
        right = {"Authorization": "Bearer тайна".encode().decode("latin-1")}
        assert server.ask("GET", "/", headers=right).status == 200
        assert server.ask("GET", "/live").status == 200


def test_only_loopback_is_bound_without_a_token() -> None:
    for host in ("0.0.0.0", "::"):
        with pytest.raises(UsageError, match="STT_RU_TOKEN"):
            bind(host, 0, None)
    for host in ("127.0.0.1", "localhost"):
        bind(host, 0, None).close()
    bind("0.0.0.0", 0, "token").close()


def test_a_port_that_is_taken_is_said() -> None:
    with bind("127.0.0.1", 0, None) as taken, pytest.raises(UsageError, match="порт занят"):
        bind("127.0.0.1", taken.getsockname()[1], None)


def test_an_address_of_nobody_is_said() -> None:
    with pytest.raises(UsageError, match="нет такого адреса"):
        bind("нет такого", 0, None)


def test_the_limit_of_a_body_leaves_room_for_long_texts() -> None:
    assert len("слово ".encode() * 10_000) < MAX_BODY_BYTES
