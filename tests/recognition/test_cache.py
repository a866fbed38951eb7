from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from stt_ru.errors import UsageError
from stt_ru.evaluation import evaluate
from stt_ru.files.writing import check_folder
from stt_ru.manifest import Sample
from stt_ru.recognition.cache import CachedRecognizer
from stt_ru.recognition.recognizer import Transcript
from stt_ru.results import Segment
from tests.conftest import FakeRecognizer

RICH = Transcript(
    segments=(Segment(0.5, 1.25, "да \u2028 «нет» \udc80", 1), Segment(2.0, 3.0, "", 0)),
    duration=3.5,
    channels=2,
    channel_map=(0, 1),
    seconds=9.0,
    warnings=("починено",),
)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "cache").mkdir()
    (tmp_path / "a.wav").write_bytes(b"one")
    (tmp_path / "b.wav").write_bytes(b"two")
    return tmp_path


def cached(
    place: Path, **texts: str | Transcript | Exception
) -> tuple[CachedRecognizer, list[str]]:
    """A recogniser with the place's cache, and what it was asked for behind the cache."""
    inner = FakeRecognizer({f"{name}.wav": text for name, text in texts.items()})
    return CachedRecognizer(inner, place / "cache"), inner.asked


def test_what_was_heard_once_is_not_heard_again(place: Path) -> None:
    first, asked = cached(place, a=RICH)
    heard = first.transcribe(place / "a.wav")
    assert heard == RICH
    again, asked_again = cached(place, a="другое")
    kept = again.transcribe(place / "a.wav")
    assert (asked, asked_again) == (["a.wav"], [])
    assert (kept.segments, kept.duration, kept.channels) == (RICH.segments, 3.5, 2)
    assert (kept.channel_map, kept.warnings) == ((0, 1), ("починено",))
    assert (kept.from_cache, kept.seconds, kept.source) == (True, None, str(place / "a.wav"))
    assert (again.hits, again.asked) == (1, 1)


def test_the_same_bytes_under_another_name_are_known(place: Path) -> None:
    cached(place, a="да")[0].transcribe(place / "a.wav")
    (place / "c.wav").write_bytes(b"one")
    other, asked = cached(place, c="нет")
    assert other.transcribe(place / "c.wav").text == "да"
    assert asked == []


def test_other_bytes_settings_or_names_are_heard_anew(place: Path) -> None:
    cached(place, a="да")[0].transcribe(place / "a.wav")
    (place / "a.wav").write_bytes(b"three")
    changed, asked = cached(place, a="нет")
    assert changed.transcribe(place / "a.wav").text == "нет"
    inner = FakeRecognizer({"a.wav": "что"})
    inner.settings = {"lang": "ru", "weights": "5"}
    assert CachedRecognizer(inner, place / "cache").transcribe(place / "a.wav").text == "что"
    named = FakeRecognizer({"a.wav": "кто"}, name="other")
    assert CachedRecognizer(named, place / "cache").transcribe(place / "a.wav").text == "кто"
    assert asked == ["a.wav"]


def test_the_number_of_workers_does_not_matter(place: Path) -> None:
    for workers, text in (("1", "да"), ("8", "нет")):
        inner = FakeRecognizer({"a.wav": text})
        inner.settings = {"lang": "ru", "workers": workers}
        assert CachedRecognizer(inner, place / "cache").transcribe(place / "a.wav").text == "да"


def test_failures_are_not_kept(place: Path) -> None:
    broken, _ = cached(place, a=RuntimeError("не вышло"))
    with pytest.raises(RuntimeError):
        broken.transcribe(place / "a.wav")
    assert cached(place, a="да")[0].transcribe(place / "a.wav").text == "да"


@pytest.mark.parametrize("content", ["", "{", "[]", '{"key": {}}', "null", '{"key": 5}'])
def test_a_spoilt_file_is_said_and_heard_anew(place: Path, content: str) -> None:
    cached(place, a="да")[0].transcribe(place / "a.wav")
    (file,) = (place / "cache").iterdir()
    file.write_text(content)
    again, asked = cached(place, a="да")
    assert again.transcribe(place / "a.wav").text == "да"
    assert asked == ["a.wav"]
    assert "испорчен" in again.warnings[-1]
    assert json.loads(file.read_text())["segments"]


def test_a_recogniser_without_settings_is_not_cached(place: Path) -> None:
    inner = FakeRecognizer({"a.wav": "да"})
    del inner.settings
    for _ in range(2):
        recognizer = CachedRecognizer(inner, place / "cache")
        recognizer.transcribe(place / "a.wav")
        assert "нет settings" in recognizer.warnings[0]
    assert inner.asked == ["a.wav"] * 2
    assert list((place / "cache").iterdir()) == []


def test_an_evaluation_marks_what_came_from_the_cache_and_claims_no_speed(place: Path) -> None:
    samples = [Sample(str(place / name), "да") for name in ("a.wav", "b.wav")]
    evaluate(cached(place, a="да")[0], samples[:1])
    some = evaluate(cached(place, b="да")[0], samples)
    assert [row.from_cache for row in some.results] == [True, False]
    assert some.results[0].seconds is None
    assert some.audio_s == 2.0  # of b.wav alone
    assert "из кэша взято записей: 1 из 2; скорость посчитана по остальным" in some.warnings
    every = evaluate(cached(place)[0], samples)
    assert (every.speed, every.wer) == (None, 0.0)
    assert str(every.signature) == str(some.signature)


def test_threads_of_several_runs_share_a_folder(place: Path) -> None:
    errors = []

    def run() -> None:
        recognizer, _ = cached(place, a="да", b="нет")
        for _ in range(20):
            for name, text in (("a.wav", "да"), ("b.wav", "нет")):
                if recognizer.transcribe(place / name).text != text or recognizer._broken:
                    errors.append(name)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert errors == []
    assert len(list((place / "cache").iterdir())) == 2


def test_a_killed_run_leaves_whole_files_only(place: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path\n"
        "from stt_ru.recognition.cache import CachedRecognizer\n"
        "from tests.conftest import FakeRecognizer\n"
        "os.fsync = lambda descriptor: os.kill(os.getpid(), 9)\n"
        "place = Path(sys.argv[1])\n"
        "inner = FakeRecognizer({'a.wav': 'да'})\n"
        "CachedRecognizer(inner, place / 'cache').transcribe(place / 'a.wav')"
    )
    done = subprocess.run([sys.executable, "-c", code, str(place)], check=False)
    assert done.returncode == -9
    assert [file.suffix for file in (place / "cache").iterdir()] == [".tmp"]
    recognizer, _ = cached(place, a="нет")
    assert recognizer.transcribe(place / "a.wav").text == "нет"
    assert recognizer.warnings == ()


def test_a_full_folder_is_said_once_and_nothing_is_lost(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    recognizer, _ = cached(place, a="да", b="нет")
    assert [recognizer.transcribe(place / f"{n}.wav").text for n in "ab"] == ["да", "нет"]
    assert recognizer.warnings == (f"кэш {place / 'cache'} не пополняется: на диске нет места",)
    assert list((place / "cache").iterdir()) == []


def test_a_folder_that_cannot_be_is_refused_early(tmp_path: Path) -> None:
    check_folder(tmp_path / "new", "--cache")
    assert (tmp_path / "new").is_dir()
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"--cache .* не удаётся записать"):
        check_folder(tmp_path / "file", "--cache")
    with pytest.raises(UsageError, match=r"--cache .* не удаётся записать"):
        check_folder(tmp_path / "no" / "where", "--cache")


@pytest.mark.parametrize(
    ("written", "changed"),
    [(r"\u0434\u0430", r"\u043d\u0435\u0442"), ('"duration": 2.0', '"duration": 3.0')],
    ids=["text", "duration"],
)
def test_a_file_that_was_changed_is_not_believed(place: Path, written: str, changed: str) -> None:
    """Also where it still reads as a transcript: by a bad disk, or by hand."""
    cached(place, a="да")[0].transcribe(place / "a.wav")
    (file,) = (place / "cache").iterdir()
    text = file.read_text()
    assert written in text
    file.write_text(text.replace(written, changed))
    again, asked = cached(place, a="да")
    assert again.transcribe(place / "a.wav").text == "да"
    assert (asked, "испорчен" in again.warnings[-1]) == (["a.wav"], True)


def test_a_pipe_in_place_of_a_file_is_not_waited_for(place: Path) -> None:
    cached(place, a="да")[0].transcribe(place / "a.wav")
    (file,) = (place / "cache").iterdir()
    file.unlink()
    os.mkfifo(file)
    again, asked = cached(place, a="да")
    assert again.transcribe(place / "a.wav").text == "да"
    assert (asked, "испорчен" in again.warnings[-1]) == (["a.wav"], True)


def test_what_killed_runs_left_is_swept(place: Path) -> None:
    old, young = (place / "cache" / f".x.json.{n}.tmp" for n in "01")
    for file in (old, young):
        file.touch()
    os.utime(old, (0, 0))
    cached(place, a="да")
    assert not old.exists()
    assert young.exists()
