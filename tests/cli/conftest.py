"""The command as a user meets it: a process of its own, with a recogniser of the user's own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import tone, write_wav

FAKES = '''
"""Recognisers for the tests: what they do is in their names."""
import json, os, sys, tempfile, threading, time
from pathlib import Path
from stt_ru import Transcript

class Recognizer:
    def __init__(self, name, act):
        self.name = name
        self.act = act

    def transcribe(self, path):
        return Transcript.from_text(self.act(Path(path).stem), duration=2.0)

def good():
    return Recognizer("good", lambda stem: {"a": "мама мыла раму", "b": "да"}[stem])

def half():
    def act(stem):
        if stem == "b":
            raise RuntimeError("не вышло")
        return "мама раму"
    return Recognizer("half", act)

def wanderer():
    os.chdir("/")
    def act(stem):
        os.chdir(tempfile.gettempdir())
        return "да"
    return Recognizer("wanderer", act)

def broken():
    raise RuntimeError("нет весов")

def slow():
    def act(stem):
        print("started", file=sys.stderr, flush=True)
        time.sleep(60)
    return Recognizer("slow", act)

def chatty():
    def act(stem):
        print("ШУМ")
        return "да"
    return Recognizer("chatty", act)

def quits():
    sys.exit("нет ключа")

def slow_loading():
    print("started", file=sys.stderr, flush=True)
    time.sleep(60)
'''


@dataclass(frozen=True)
class Place:
    """A folder with two recordings, a manifest and recognisers."""

    folder: Path

    @property
    def report(self) -> Path:
        return self.folder / "report.json"

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-P", "-m", "stt_ru", *arguments]  # -P: as the script finds modules

    def run(
        self,
        *arguments: str,
        code: int | None = 0,
        env: dict[str, str] | None = None,
        shell: str = "",
    ) -> subprocess.CompletedProcess[str]:
        """Run ``stt-ru`` with the arguments; ``shell`` is put after it, e.g. ``| head``."""
        command: Sequence[str] = self.command(*arguments)
        if shell:
            quoted = " ".join(f"'{word}'" for word in command)
            command = ["bash", "-c", f"set -o pipefail; {quoted} {shell}"]
        done = subprocess.run(
            command,
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": "", **(env or {})},
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        if code is not None:
            assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
        return done


@pytest.fixture
def place(tmp_path: Path) -> Place:
    write_wav(tmp_path / "a.wav", tone(2.0))
    write_wav(tmp_path / "b.wav", tone(2.0))
    manifest = "audio;text\na.wav;Мама мыла раму.\nb.wav;Да\n"
    (tmp_path / "eval.csv").write_text(manifest, encoding="utf-8")
    (tmp_path / "fakes.py").write_text(FAKES, encoding="utf-8")
    return Place(tmp_path)
