from __future__ import annotations

import os
import resource
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from stt_ru.errors import ReportError, UsageError
from stt_ru.files.writing import append_whole, check_target, make_folder, replacing, write_report


def refused(target: Path, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check_target(target)


def test_a_new_and_an_old_file_may_be_written_and_are_not_touched(tmp_path: Path) -> None:
    check_target(tmp_path / "new.json")
    assert list(tmp_path.iterdir()) == []
    old = tmp_path / "old.JSON"
    old.write_text("старый")
    check_target(old)
    assert old.read_text() == "старый"
    assert list(tmp_path.iterdir()) == [old]


def test_targets_that_cannot_be_written_are_refused(tmp_path: Path) -> None:
    refused(tmp_path / "report.txt", r"кончаться на \.json")
    refused(tmp_path / "нет" / "report.json", "нет каталога")
    (tmp_path / "dir.json").mkdir()
    refused(tmp_path / "dir.json", "это каталог")
    (tmp_path / "file").touch()
    refused(tmp_path / "file" / "report.json", "каталог")
    refused(tmp_path / ("я" * 200 + ".json"), "имя длиннее, чем допускает система")
    os.mkfifo(tmp_path / "fifo.json")
    refused(tmp_path / "fifo.json", "не обычный файл")
    loop = tmp_path / "loop.json"
    loop.symlink_to(loop)
    refused(loop, "не удаётся записать")
    device = tmp_path / "null.json"
    device.symlink_to("/dev/null")
    refused(device, "не обычный файл")


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="no folder here that refuses even root")
def test_a_folder_that_takes_no_files_is_found_out_by_trying() -> None:
    refused(Path("/proc/report.json"), "не удаётся записать")


def test_a_report_replaces_the_old_one_and_keeps_its_rights(tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    target.write_text("старый")
    target.chmod(0o640)
    write_report(target, ["но", "вый"])
    assert target.read_text(encoding="utf-8") == "новый"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == [target]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target = tmp_path / "real" / "report.json"
    target.parent.mkdir()
    link = tmp_path / "link.json"
    link.symlink_to(target)
    check_target(link)
    write_report(link, ["текст"])
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == "текст"


def test_an_error_in_the_middle_leaves_the_old_report(tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    target.write_text("старый")

    def pieces() -> Iterator[str]:
        yield "новый"
        raise OSError(28, "No space left on device")

    with pytest.raises(ReportError, match="на диске нет места"):
        write_report(target, pieces())
    assert target.read_text() == "старый"
    assert list(tmp_path.iterdir()) == [target]


def test_a_file_that_may_not_grow_is_an_error_and_leaves_the_old_report(tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    target.write_text("старый")
    code = (
        "import resource, signal, sys; from pathlib import Path\n"
        "from stt_ru.errors import ReportError; from stt_ru.files.writing import write_report\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try: write_report(Path(sys.argv[1]), ['x' * 100_000])\n"
        "except ReportError as error: print(error)"
    )
    out = subprocess.run(
        [sys.executable, "-c", code, str(target)], capture_output=True, text=True, check=True
    )
    assert "не записан" in out.stdout
    assert target.read_text() == "старый"
    assert list(tmp_path.iterdir()) == [target]
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 1000


def test_kill_at_any_moment_leaves_the_old_report_whole(tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    target.write_text("старый")
    code = (
        "import os, sys; from pathlib import Path; from stt_ru.files.writing import write_report\n"
        "def pieces():\n"
        "    yield 'x' * 1_000_000\n"
        "    os.kill(os.getpid(), 9)\n"
        "write_report(Path(sys.argv[1]), pieces())"
    )
    out = subprocess.run([sys.executable, "-c", code, str(target)], check=False)
    assert out.returncode == -9
    assert target.read_text() == "старый"


def test_a_path_may_be_a_text(tmp_path: Path) -> None:
    write_report(str(tmp_path / "r.json"), ["{}"])
    assert (tmp_path / "r.json").read_text() == "{}"
    with pytest.raises(ReportError, match="не записан"):
        write_report(str(tmp_path / "нет" / "r.json"), ["{}"])


def test_a_name_that_is_no_unicode_is_kept_as_an_escape(tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    write_report(target, ['"\udc80"'])
    assert target.read_text(encoding="utf-8") == '"\\udc80"'


def test_threads_may_replace_one_file_at_the_same_time(tmp_path: Path) -> None:
    target = tmp_path / "r.json"
    start = threading.Barrier(4)
    errors: list[BaseException] = []

    def write(text: str) -> None:
        def pieces() -> Iterator[str]:
            yield text
            start.wait(20)  # all four are in the middle of it
            yield text

        try:
            write_report(target, pieces())
        except BaseException as error:  # noqa: BLE001 - for the test to see
            errors.append(error)

    threads = [threading.Thread(target=write, args=(letter,)) for letter in "абвг"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert errors == []
    assert target.read_text(encoding="utf-8") in {"аа", "бб", "вв", "гг"}
    assert list(tmp_path.iterdir()) == [target]


def test_what_a_killed_process_left_is_in_nobodys_way(tmp_path: Path) -> None:
    (tmp_path / f".r.json.{os.getpid()}.tmp").touch()  # in a container numbers come again
    check_target(tmp_path / "r.json")
    write_report(tmp_path / "r.json", ["{}"])


def test_a_block_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "p.png"
    target.write_bytes(b"old")

    def fail() -> None:
        with replacing(target) as stream:
            stream.write(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_folder_is_made_and_tried_without_touching_what_is_in_it(tmp_path: Path) -> None:
    mine = tmp_path / ".trial"
    mine.write_text("моё")
    make_folder(tmp_path)
    assert mine.read_text() == "моё"
    make_folder(tmp_path / "a" / "b", parents=True)
    assert list((tmp_path / "a" / "b").iterdir()) == []
    with pytest.raises(FileNotFoundError):
        make_folder(tmp_path / "c" / "d")


def test_a_line_that_does_not_fit_is_not_begun(tmp_path: Path) -> None:
    log = tmp_path / "log"
    append_whole(log, "первая\n")
    code = (
        "import resource, signal, sys; from pathlib import Path\n"
        "from stt_ru.files.writing import append_whole\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))\n"
        "try: append_whole(Path(sys.argv[1]), 'x' * 100)\n"
        "except OSError as error: print(error.strerror)"
    )
    out = subprocess.run(
        [sys.executable, "-c", code, str(log)], capture_output=True, text=True, check=True
    )
    assert out.stdout == "No space left on device\n"
    assert log.read_text(encoding="utf-8") == "первая\n"
