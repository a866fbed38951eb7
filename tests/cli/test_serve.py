"""``stt-ru serve``: what it refuses before it listens. The server itself: tests of ``server/``."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from stt_ru.cli import entry
from stt_ru.extras import install_command
from stt_ru.simultaneous.scorers import LATENCY_SCORERS, QUALITY_SCORERS
from tests.conftest import ROOT, tone, write_wav

FIXTURES = ROOT / "fixtures" / "simul"
TEXTS = f"--source {FIXTURES / 'source.txt'} --target {FIXTURES / 'target.txt'}"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_wav(tmp_path / "a.wav", tone(0.2))
    (tmp_path / "eval.csv").write_text("audio,text\na.wav,раз\n", "utf-8")
    (tmp_path / "broken.py").write_text("1 / 0", "utf-8")
    (tmp_path / "quits.py").write_text("import sys; sys.exit('нет ключа')", "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STT_RU_TOKEN", raising=False)
    for registry in (LATENCY_SCORERS, QUALITY_SCORERS):
        monkeypatch.setattr(registry, "_users", {})
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (TEXTS + " eval.csv", "либо манифест, либо"),
        ("--port 0", "не указаны данные"),
        ("нет.csv", "нет.csv"),
        ("eval.csv --source-type text", "в манифесте записи"),
        (TEXTS + " --latency-metrics LAL", "нет показателя задержки «LAL»"),
        (TEXTS + " --quality-metrics ASR_BLEU", "серверу присылают текст"),
        (TEXTS + " --host 0.0.0.0", "STT_RU_TOKEN"),
        (TEXTS + " --host nowhere.invalid", "нет такого адреса"),
        (TEXTS + " --output eval.csv", "--output eval.csv"),
        (TEXTS + " --metrics-file broken.py", "ZeroDivisionError"),
        (TEXTS + " --metrics-file quits.py", "модуль не загрузился: SystemExit: нет ключа"),
        (TEXTS + " --port 65536", "от 0 до 65535"),
        (TEXTS + " --idle-minutes 0", "больше 0"),
        (f"--source {FIXTURES / 'source.txt'} --target eval.csv --port x", "--port"),
    ],
)
def test_a_wrong_request_says_what_is_wrong(
    arguments: str,
    reason: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["stt-ru", "serve", *arguments.split()])

    assert entry._run_command() == 2
    assert reason in capsys.readouterr().err


def test_a_port_that_is_taken_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        monkeypatch.setattr(sys, "argv", ["stt-ru", "serve", *TEXTS.split(), "--port", port])

        assert entry._run_command() == 2
    assert "порт занят" in capsys.readouterr().err


def test_a_missing_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.setattr(sys, "argv", ["stt-ru", "serve", *TEXTS.split()])

    assert entry._run_command() == 1
    assert install_command("server") in capsys.readouterr().err
