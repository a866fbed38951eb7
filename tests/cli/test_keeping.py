"""What is finished is kept, whatever the code of the next model does to the process."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Place

ENDS = {
    "os._exit(0)": "os._exit(0)",
    "os._exit(3)": "os._exit(3)",
    "a crash": "os.kill(os.getpid(), signal.SIGSEGV)",
    "a kill": "os.kill(os.getpid(), signal.SIGKILL)",
}

DYING = """
import os, signal
from stt_ru import Transcript

class Dying:
    name = "dying"
    def transcribe(self, path):
        {end}

def while_hearing():
    return Dying()

def while_loading():
    {end}
"""


def kept(place: Place) -> list[str]:
    report = json.loads(place.report.read_text(encoding="utf-8"))
    return [model["label"] for model in report["models"]]


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS.keys())
@pytest.mark.parametrize("moment", ["while_loading", "while_hearing"])
def test_a_model_that_ends_the_process_loses_none_before_it(
    place: Place, end: str, moment: str
) -> None:
    (place.folder / "dying.py").write_text(DYING.format(end=end), encoding="utf-8")
    place.report.write_text("прежний отчёт", encoding="utf-8")
    models = ("-m", "fakes.py:good", "-m", f"dying.py:{moment}", "-m", "tiny-ru")

    done = place.run("evaluate", "eval.csv", *models, "-o", "report.json", code=None)

    assert done.returncode != 0
    assert kept(place) == ["fakes.py:good"]
    if "_exit" in end:
        assert f"код распознавателя завершил программу ({end})" in done.stderr


@pytest.mark.parametrize("suffix", [".html", ".csv", ".md", ".xlsx"])
def test_every_kind_of_report_is_kept(place: Place, suffix: str) -> None:
    (place.folder / "dying.py").write_text(DYING.format(end="os._exit(0)"), encoding="utf-8")
    models = ("-m", "fakes.py:good", "-m", "dying.py:while_loading")
    place.run("evaluate", "eval.csv", *models, "-o", f"report{suffix}", code=1)
    assert (place.folder / f"report{suffix}").stat().st_size > 100


def test_streams_are_kept_too(place: Place) -> None:
    (place.folder / "dying.py").write_text(DYING.format(end="os._exit(0)"), encoding="utf-8")
    models = ("-m", "fakes.py:good", "-m", "dying.py:while_hearing")
    place.run("stream", "eval.csv", *models, "-o", "report.json", code=1)
    assert kept(place) == ["fakes.py:good"]


def test_a_report_that_cannot_be_kept_does_not_stop_the_run(place: Place) -> None:
    (place.folder / "spoiling.py").write_text(
        "import os\n"
        "from fakes import good as made\n"
        "def good():\n"
        "    os.mkdir('report.json')\n"
        "    return made()\n",
        encoding="utf-8",
    )
    models = ("-m", "spoiling.py:good", "-m", "fakes.py:good")
    done = place.run("evaluate", "eval.csv", *models, "-o", "report.json", code=1)
    assert "готовые модели пока не сохранены: " in done.stderr
    assert "spoiling.py:good и fakes.py:good: WER одинаков" in done.stdout
