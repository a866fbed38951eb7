from __future__ import annotations

import json
import os
import signal
import subprocess
from typing import Any

import pytest

from tests.cli.conftest import Place

GOOD = ("-m", "fakes.py:good")
TABLE = (
    "Модель         WER, %  CER, %  Скорость  Записей  Ошибок  95 %\nfakes.py:good     0.0     0.0"
)
FEW = "разных записей: 2, мало для интервала"


def report_of(place: Place) -> Any:
    return json.loads(place.report.read_text(encoding="utf-8"))


def test_the_table_goes_to_stdout_and_the_rest_to_stderr(place: Place) -> None:
    done = place.run("evaluate", "eval.csv", *GOOD, "-o", "report.json")
    assert done.stdout.startswith(TABLE)
    assert done.stdout.count("\n") == 2
    assert "fakes.py:good: загружается" in done.stderr
    assert "2 из 2" in done.stderr
    assert "Отчёт: report.json" in done.stderr
    (model,) = report_of(place)["models"]
    assert (model["wer"], model["files"], model["failed"]) == (0.0, 2, 0)
    assert [row["audio"] for row in model["results"]] == ["a.wav", "b.wav"]


def test_quiet_says_only_what_matters(place: Place) -> None:
    (warning,) = place.run("evaluate", "eval.csv", *GOOD, "-q").stderr.splitlines()
    assert warning.startswith(f"Внимание: {FEW}")
    done = place.run("evaluate", "eval.csv", "-m", "fakes.py:half", "-q", code=1)
    error, warning = done.stderr.splitlines()
    assert error == "Ошибка: b.wav: RuntimeError: не вышло"
    assert warning.startswith("Внимание: разных записей: 1, мало")


def test_a_failed_recording_and_a_model_that_does_not_load_are_exit_1(place: Place) -> None:
    done = place.run(
        "evaluate",
        "eval.csv",
        "-m",
        "fakes.py:broken",
        "-m",
        "fakes.py:half",
        *GOOD,
        "-o",
        "report.json",
        code=1,
    )
    lines = done.stdout.splitlines()
    assert "fakes.py:broken (не загружена)" in lines[1]
    assert lines[2].split()[1:3] == ["33.3", "35.7"]
    assert lines[3].split()[1] == "0.0"
    assert "fakes.py:broken не загружена: RuntimeError: нет весов" in done.stderr
    assert "WER на общих строках (1): fakes.py:half 33.3 %; fakes.py:good 0.0 %" in done.stderr
    assert [model["failed"] for model in report_of(place)["models"]] == [2, 1, 0]


def test_a_repeated_model_counts_once(place: Place) -> None:
    done = place.run("evaluate", "eval.csv", *GOOD, *GOOD, "-q", "--quiet")
    assert done.stdout.count("fakes.py:good") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["нет.csv"], "нет.csv", id="no manifest"),
        pytest.param(["eval.csv", "--workers", "0"], "--workers: «0»", id="workers 0"),
        pytest.param(["eval.csv", "--workers", "много"], "целое число", id="workers word"),
        pytest.param(["eval.csv", "--batch-size", "0"], "--batch-size: «0»", id="batch"),
        pytest.param(["eval.csv", "--vad-threshold", "1"], "--vad-threshold: «1»", id="threshold"),
        pytest.param(["eval.csv", "--max-speech-s", "nan"], "--max-speech-s: «nan»", id="nan"),
        pytest.param(["eval.csv", "--device", "tpu"], "есть: auto, cpu, cuda", id="device"),
        pytest.param(["eval.csv", "--device", "coreml"], "onnxruntime нет CoreML", id="provider"),
        pytest.param(["eval.csv", "--language", "русский"], "код из двух-трёх", id="language"),
        pytest.param(["eval.csv", "--quantization", "../x"], "--quantization", id="quantization"),
        pytest.param(["eval.csv", "-m", "gigaam-v3-cct"], "похожие: gigaam-v3-ctc", id="typo"),
        pytest.param(["eval.csv", "-m", "whisper"], "-m whisper=КАТАЛОГ", id="type"),
        pytest.param(["eval.csv", "-m", "=x"], "ИМЯ=КАТАЛОГ", id="no name"),
        pytest.param(["eval.csv", "-m", "fakes.py:нет"], "нет функции нет", id="no function"),
        pytest.param(["eval.csv", "-m", "нет.py:good"], "нет файла нет.py", id="no module file"),
        pytest.param(["eval.csv", "-m", "net:good"], "модуль net не загрузился", id="no module"),
        pytest.param(["eval.csv", "-m", "fakes.py"], "-m fakes.py:ФУНКЦИЯ", id="no function name"),
        pytest.param(["eval.csv", "-m", "fakes:a-b"], "нужно имя функции", id="wrong function"),
        pytest.param(["eval.csv", "-m", r"C:\models\x"], r"-m ИМЯ=КАТАЛОГ", id="windows path"),
        pytest.param(["eval.csv", "-m", "./models"], "gigaam-v3-ctc=./models", id="path"),
        pytest.param(["eval.csv", "-m", r"whisper=C:\м"], r"нет каталога C:\м", id="no folder"),
        pytest.param(
            ["eval.csv", "-m", "whisper", "--model-dir", "fakes.py"], "не каталог", id="a file"
        ),
        pytest.param(
            ["eval.csv", "-m", "gigaam"], "похожие: gigaam-v3-e2e-rnnt, gigaam-v2-ctc", id="near"
        ),
        pytest.param(
            ["eval.csv", "-m", "whisper-base", "--max-speech-s", "60"], "Whisper слышит", id="30 s"
        ),
        pytest.param(
            ["eval.csv", *GOOD, "-m", "tiny-ru", "--model-dir", "x"], "для одной модели", id="dir"
        ),
        pytest.param(["eval.csv", "--vad-dir", "."], "нет файла silero_vad.onnx", id="vad"),
        pytest.param(["eval.csv", "--vad-dir", ".", "--no-vad"], "вместе не имеют", id="two vads"),
        pytest.param(["eval.csv", "-o", "нет/report.json"], "нет каталога", id="report folder"),
        pytest.param(["eval.csv", "-o", "report.txt"], "кончаться на .json", id="report suffix"),
        pytest.param(["eval.csv", "--embed-audio"], "укажите -o ФАЙЛ.html", id="no page"),
        pytest.param(["eval.csv", "--embed-audio", "-o", "r.xlsx"], "внутрь страницы", id="a book"),
        pytest.param(["eval.csv", "--нет"], "нет параметра --нет", id="option"),
        pytest.param(["eval.csv", "--modle", "x"], "похожие: --mod", id="option typo"),
        pytest.param(["eval.csv", "-m"], "параметр -m: нужно значение", id="no value"),
        pytest.param(["eval.csv", "b.csv"], "лишние аргументы: b.csv", id="two manifests"),
        pytest.param(
            ["eval.csv", "-o", "a.html", "-o", "b.xlsx"],
            "--output: указан несколько раз, а значение нужно одно. Справка: stt-ru evaluate",
            id="two reports",
        ),
        pytest.param(["eval.csv", "-oa.md", "--output=a.md"], "--output: указан", id="two forms"),
        pytest.param(["eval.csv", "--workers", "2", "--workers", "2"], "--workers:", id="equal"),
        pytest.param(["нет.csv", "--workers=0", "--workers=0"], "несколько раз", id="first of all"),
        pytest.param(["--quiet"], "не указан аргумент МАНИФЕСТ", id="no argument"),
    ],
)
def test_a_wrong_request_is_one_sentence_and_exit_2(
    place: Place, arguments: list[str], message: str
) -> None:
    done = place.run("evaluate", *arguments, code=2)
    assert done.stdout == ""
    assert message in done.stderr
    assert done.stderr.startswith("Ошибка: ")
    assert done.stderr.count("\n") == 1
    assert "Использование" not in done.stderr


def test_an_unknown_command_lists_the_known(place: Place) -> None:
    done = place.run("evalute", code=2)
    assert "нет команды «evalute»; похожие: evaluate. Справка" in done.stderr
    done = place.run("оценить", code=2)
    assert "нет команды «оценить»; есть: evaluate, stream, simul" in done.stderr


def test_faults_of_the_manifest_come_together_and_before_any_model(place: Place) -> None:
    manifest = "audio,text\na.wav,\nнет.wav,да\na.wav,да,лишнее\n"
    (place.folder / "eval.csv").write_text(manifest, encoding="utf-8")
    done = place.run("evaluate", "eval.csv", "-m", "fakes.py:slow_loading", code=2)
    lines = done.stderr.splitlines()
    assert [line[:19] for line in lines] == [f"Ошибка: eval.csv:{n}:" for n in (2, 3, 4)]
    assert "started" not in done.stderr


def test_the_report_may_not_replace_the_manifest(place: Place) -> None:
    (place.folder / "x.json").write_text('{"audio": "a.wav", "text": "да"}\n')
    link = place.folder / "eval.jsonl"
    link.symlink_to(place.folder / "x.json")
    done = place.run("evaluate", "eval.jsonl", *GOOD, "-o", "x.json", code=2)
    assert "стёр бы eval.jsonl" in done.stderr


@pytest.mark.slow
def test_a_glossary_that_has_gone_when_the_work_is_done_loses_nothing(place: Place) -> None:
    (place.folder / "names").write_text("раму = рамку\n", encoding="utf-8")
    with (place.folder / "fakes.py").open("a", encoding="utf-8") as fakes:
        fakes.write("\n\ndef tidy():\n    os.unlink('names')\n    return good()\n")
    models = ("-m", "fakes.py:tidy")
    done = place.run("evaluate", "eval.csv", *models, "--glossary", "names", "-o", "report.json")
    assert "словарь" in done.stdout
    assert report_of(place)["models"][0]["failed"] == 0


def test_relative_paths_are_of_the_folder_the_command_was_started_in(place: Place) -> None:
    models = ("-m", "fakes.py:wanderer", *GOOD)
    done = place.run("evaluate", "eval.csv", *models, "-o", "report.json")
    assert "Отчёт: report.json" in done.stderr
    assert [model["failed"] for model in report_of(place)["models"]] == [0, 0]


@pytest.mark.slow
def test_two_folders_of_one_name_are_told_apart(place: Place) -> None:
    for name in ("один", "два"):
        (place.folder / name).mkdir()
    models = ("-m", "whisper=один", "-m", "whisper=два")
    done = place.run("evaluate", "eval.csv", *models, "-q", code=1)
    assert "whisper (один) (не загружена)" in done.stdout
    assert "whisper (два) (не загружена)" in done.stdout
    assert "в каталоге один нет" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("slow", ["slow", "slow_loading"])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interruption_keeps_the_models_that_are_complete(
    place: Place, slow: str, number: signal.Signals, code: int
) -> None:
    stdout, stderr, returncode = interrupted(
        place, [*GOOD, "-m", f"fakes.py:{slow}", "-o", "report.json"], [number]
    )
    assert returncode == code, stderr
    assert "Traceback" not in stderr
    assert stdout.startswith(TABLE)
    assert "slow" not in stdout
    assert "\nПрервано: в таблице то, что оценено целиком, строк: 1\n" in stderr
    assert len(report_of(place)["models"]) == 1


@pytest.mark.slow
def test_an_interruption_of_the_first_model_leaves_the_old_report(place: Place) -> None:
    place.report.write_text("старый")
    stdout, stderr, returncode = interrupted(
        place, ["-m", "fakes.py:slow", "-o", "report.json"], [signal.SIGINT]
    )
    assert (stdout, returncode) == ("", 130), stderr
    assert stderr.endswith("\nПрервано: целиком не оценена ни одна модель\n")
    assert place.report.read_text() == "старый"


def interrupted(
    place: Place, arguments: list[str], signals: list[signal.Signals]
) -> tuple[str, str, int]:
    """Run until a recogniser says that it has started, send the signals, and wait for the end."""
    process = subprocess.Popen(
        place.command("evaluate", "eval.csv", *arguments),
        cwd=place.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    assert process.stderr is not None
    said = ""
    while "started" not in said:
        line = process.stderr.readline()
        assert line, said
        said += line
    for number in signals:
        process.send_signal(number)
    stdout, stderr = process.communicate(timeout=60)
    return stdout, said + stderr, process.returncode


@pytest.mark.slow
def test_closed_and_broken_outputs(place: Place) -> None:
    arguments = ("evaluate", "eval.csv", *GOOD, "-q", "-o", "report.json")
    place.run(*arguments, shell="| true", code=0)
    place.run(*arguments, shell=">&-", code=0)
    done = place.run(*arguments, shell=">/dev/full", code=1)
    assert "вывод не записан: на диске нет места" in done.stderr
    assert report_of(place)["models"]
    place.run("--help", shell="| true", code=0)
    place.run("--version", shell=">&-", code=0)


@pytest.mark.slow
def test_lines_of_a_closed_stderr_land_nowhere(place: Place) -> None:
    done = place.run("evaluate", "eval.csv", "-m", "fakes.py:half", shell="2>&-", code=1)
    assert done.stdout.splitlines()[0].startswith("Модель")
    assert len(done.stdout.splitlines()) == 2
    place.run("evaluate", "eval.csv", "-m", "fakes.py:half", shell="2>/dev/full", code=1)
    place.run("evaluate", "eval.csv", *GOOD, "-o", "report.json", shell="2>&-", code=0)
    assert report_of(place)["models"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "env", [{"LC_ALL": "C"}, {"PYTHONIOENCODING": "ascii"}, {"PYTHONUTF8": "0", "LC_ALL": "POSIX"}]
)
def test_any_locale_will_do(place: Place, env: dict[str, str]) -> None:
    done = place.run("evaluate", "eval.csv", *GOOD, "-o", "report.json", env=env)
    assert "WER" in done.stdout
    assert report_of(place)["models"][0]["results"][1]["hypothesis"] == "да"


@pytest.mark.slow
def test_workers_of_a_recogniser_of_ones_own(place: Place) -> None:
    for workers in ("auto", "2"):
        place.run("evaluate", "eval.csv", *GOOD, "-q", "--workers", workers)


def test_a_module_on_the_path_of_the_current_folder(place: Place) -> None:
    place.run("evaluate", "eval.csv", "-m", "fakes:good", "-q")


def test_a_progress_bar_on_a_terminal(place: Place) -> None:
    pty = pytest.importorskip("pty")
    master, slave = pty.openpty()
    done = subprocess.run(
        place.command("evaluate", "eval.csv", *GOOD),
        cwd=place.folder,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
        stdout=subprocess.PIPE,
        stderr=slave,
        timeout=60,
        check=True,
    )
    os.close(slave)
    shown = os.read(master, 100_000).decode()
    os.close(master)
    assert "2 из 2" in shown
    assert done.stdout.decode().startswith(TABLE)


def test_what_a_recogniser_prints_does_not_stand_in_the_table(place: Place) -> None:
    done = place.run("evaluate", "eval.csv", "-m", "fakes.py:chatty", "-q")
    assert "ШУМ" not in done.stdout
    assert done.stderr.count("ШУМ") == 2


def test_a_recogniser_that_quits_is_a_model_that_did_not_load(place: Place) -> None:
    done = place.run("evaluate", "eval.csv", "-m", "fakes.py:quits", "-q", code=1)
    assert "fakes.py:quits не загружена: SystemExit: нет ключа" in done.stderr
    (place.folder / "exiting.py").write_text("import sys; sys.exit('нет ключа')")
    done = place.run("evaluate", "eval.csv", "-m", "exiting.py:make", code=2)
    assert "модуль exiting.py не загрузился: SystemExit: нет ключа" in done.stderr


def test_a_module_beside_the_recognisers_file_is_found(place: Place) -> None:
    (place.folder / "mine").mkdir()
    (place.folder / "fakes.py").rename(place.folder / "mine" / "beside.py")
    (place.folder / "mine" / "model.py").write_text("from beside import good\n")
    place.run("evaluate", "eval.csv", "-m", "mine/model.py:good", "-o", "report.json", "-q")
    assert report_of(place)["models"][0]["wer"] == 0.0


def test_a_module_of_the_users_does_not_stand_in_for_the_librarys(place: Place) -> None:
    (place.folder / "json.py").write_text((place.folder / "fakes.py").read_text(encoding="utf-8"))
    place.run("evaluate", "eval.csv", "-m", "json.py:good", "-o", "report.json", "-q")
    assert report_of(place)["models"][0]["wer"] == 0.0


def test_no_control_character_of_others_reaches_the_terminal(place: Place) -> None:
    (place.folder / "evil.py").write_text(
        "from stt_ru import Transcript\n"
        "class Evil:\n"
        "    name = 'evil'\n"
        "    label = 'e\\x1b[2Jvil'\n"
        "    warnings = ['w\\x1b]0;t\\x07']\n"
        "    def transcribe(self, path):\n"
        "        if path.stem == 'b':\n"
        "            raise RuntimeError('x\\x1b[31m\\x9b5m')\n"
        "        return Transcript.from_text('да', 2.0)\n",
        encoding="utf-8",
    )
    done = place.run("evaluate", "eval.csv", "-m", "evil.py:Evil", code=1)
    for printed in (done.stdout, done.stderr):
        assert all(character.isprintable() or character == "\n" for character in printed)
    assert "\\x1b[31m" in done.stderr
