"""``stt-ru stream`` as a person types it, in this process."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import soundfile

from stt_ru.cli.entry import run
from stt_ru.cli.interrupts import Interruption
from stt_ru.recognition.onnx_models import weights_digest
from stt_ru.streaming.engines.tiny_ru_stream import FILES, MODEL_DIR
from stt_ru.streaming.run.history import load_history
from tests.streaming.fakes import tone


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    soundfile.write(tmp_path / "a.wav", tone(2.2), 16_000)
    soundfile.write(tmp_path / "b.wav", tone(1.2), 16_000)
    rows = [
        {
            "audio": "a.wav",
            "text": "1 2",
            "words": [
                {"word": "1", "start": 0.1, "end": 0.9},
                {"word": "2", "start": 1.1, "end": 1.9},
            ],
        },
        {"audio": "b.wav", "text": "1", "words": [{"word": "1", "start": 0.1, "end": 0.9}]},
    ]
    path = tmp_path / "m.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def stt_ru(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["stt-ru", *map(str, arguments)])
    monkeypatch.setattr(Interruption, "listen", lambda self: None)  # pytest has its own handlers
    return run()


def test_a_model_is_measured_and_everything_is_saved(
    manifest: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = manifest.parent
    code = stt_ru(
        monkeypatch,
        *("stream", manifest, "-m", "dummy", "-o", folder / "r.json"),
        *("--history", folder / "h", "--plots", folder / "p"),
        *("--save-timings", folder / "t.jsonl"),
    )
    printed = capsys.readouterr()
    assert code == 0, printed.err
    header, row = printed.out.splitlines()
    assert header.split("  ")[0].strip() == "Модель"
    assert header.split()[-2:] == ["Записей", "Ошибок"]
    assert row.startswith("dummy")
    assert row.split()[-2:] == ["2", "0"]
    assert "задержки – по верным в итоге словам: 3 из 3" in printed.err
    data = json.loads((folder / "r.json").read_text())
    (model,) = data["models"]
    assert set(model["lagging_s"]) >= {"al", "laal", "dal", "al_elapsed"}
    assert set(model["proportion"]) == {"ap", "ap_elapsed"}
    assert model["lagging_rows"] == model["files"]
    assert data["models"][0]["wer"] == 0
    assert load_history(folder / "h" / "dummy" / "0001-a.json").text == "1 2"
    pictures = sorted(file.name for file in (folder / "p").rglob("*.png"))
    assert pictures == ["0001-a.png", "0002-b.png", "summary.png"]
    code = stt_ru(monkeypatch, "stream", folder / "t.jsonl", "-m", "dummy", "-q")
    again = capsys.readouterr()
    assert (code, again.out.splitlines()[1].split()[:3]) == (0, row.split()[:3])


def test_warnings_of_the_manifest_go_with_the_report(
    manifest: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first = manifest.read_text(encoding="utf-8").splitlines()[0]
    with manifest.open("a", encoding="utf-8") as rows:
        rows.write(f"{first}\n")
    report = manifest.parent / "r.json"
    assert stt_ru(monkeypatch, "stream", manifest, "-m", "dummy", "-q", "-o", report) == 0
    (warning,) = json.loads(report.read_text(encoding="utf-8"))["warnings"]
    assert f"Внимание: {warning}" in capsys.readouterr().err.splitlines()


def test_models_of_like_names_have_folders_of_their_own(
    manifest: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(manifest.parent)
    Path("own.py").write_text("from stt_ru.streaming import DummyASR as make\n")
    long = Path("л" * 90)
    for name in ("a", "b"):
        (long / name).mkdir(parents=True)
        (long / name / "model").symlink_to(MODEL_DIR)
    models = ("-m", "own.py:make", *(f"-mtiny-ru-stream={long / name / 'model'}" for name in "ab"))
    assert stt_ru(monkeypatch, "stream", "m.jsonl", *models, "-q", "--history", "h") == 0
    base = f"tiny-ru-stream_{'л' * 65}"
    assert sorted(folder.name for folder in Path("h").iterdir()) == [
        "own.py_make",
        base,
        f"{base}-2",
    ]
    Path("h/own.py_make").rename("h/old")
    Path("h/own.py_make").touch()  # a file where the folder is to be: said, and nothing is lost
    assert stt_ru(monkeypatch, "stream", "m.jsonl", *models[:2], "-q", "--history", "h") == 0
    printed = capsys.readouterr()
    assert "own.py_make не создан: есть файл с таким именем" in printed.err
    assert printed.out.splitlines()[-1].split()[-2:] == ["2", "0"]


def test_what_a_model_prints_stays_out_of_the_table(
    manifest: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    own = manifest.parent / "own.py"
    own.write_text(
        "from stt_ru.streaming import DummyASR\n"
        "def make():\n    print('загружаюсь')\n    return DummyASR()\n"
    )
    assert stt_ru(monkeypatch, "stream", manifest, "-m", f"{own}:make", "-q") == 0
    printed = capsys.readouterr()
    assert len(printed.out.splitlines()) == 2
    assert "загружаюсь" in printed.err


def test_relative_paths_are_of_the_folder_the_command_was_started_in(
    manifest: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = manifest.parent
    monkeypatch.chdir(folder)
    (folder / "away").mkdir()
    (folder / "own.py").write_text(
        "import os\n"
        "from stt_ru import Transcript\n"
        "class Wanderer:\n"
        "    name = 'wanderer'\n"
        "    def transcribe(self, path):\n"
        f"        os.chdir({str(folder / 'away')!r})\n"
        "        return Transcript.from_text('1 2')\n"
        "def make():\n    os.chdir('/')\n    return Wanderer()\n"
    )
    (folder / "model").symlink_to(MODEL_DIR)
    row = {"audio": "b.wav", "text": "да"}  # its word must be found by the aligner
    manifest.write_text(manifest.read_text() + json.dumps(row, ensure_ascii=False) + "\n")
    (folder / "aligner").symlink_to(MODEL_DIR.parent / "tiny_ru")
    code = stt_ru(
        monkeypatch,
        *("stream", "m.jsonl", "-q", "-o", "r.json", "--save-timings", "t.jsonl"),
        *("-m", "own.py:make", "-m", "tiny-ru-stream=model", "--aligner", "tiny-ru=aligner"),
        *("--history", "h", "--plots", "p"),
    )
    assert code == 0, capsys.readouterr().err
    files = {file.relative_to(folder).as_posix() for file in folder.rglob("*.*")}
    assert files >= {"r.json", "t.jsonl", "p/summary.png", "p/own.py_make/0001-a.png"}
    assert len(list((folder / "h").rglob("*.json"))) == 6
    assert not list((folder / "away").iterdir())


def test_load_is_shown_beside_one_stream(
    manifest: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code = stt_ru(
        monkeypatch, "stream", manifest, "-m", "dummy", "-q", "--streams", 2, "--speed", 10
    )
    lines = capsys.readouterr().out.splitlines()
    assert code == 0
    assert [line.split("  ")[0] for line in lines[1:]] == ["dummy, потоков: 1", "dummy, потоков: 2"]


def test_a_failed_recording_is_exit_code_1_and_named(
    manifest: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (manifest.parent / "b.wav").write_bytes(b"no sound")
    assert stt_ru(monkeypatch, "stream", manifest, "-m", "dummy", "-q") == 1
    printed = capsys.readouterr()
    assert "Ошибка: b.wav:" in printed.err
    assert printed.out.splitlines()[1].split()[-2:] == ["2", "1"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["-m", "vosk-stream"], "-m vosk-stream=КАТАЛОГ", id="no folder"),
        pytest.param(["-m", "нет-такой"], "нет модели «нет-такой»", id="unknown model"),
        pytest.param(["-m", "sherpa=."], "похожие: sherpa-stream; все", id="near name"),
        pytest.param(["--interval", "0"], "--interval: «0»", id="interval"),
        pytest.param(["--streams", "2", "--remap"], "уберите --remap", id="streams"),
        pytest.param(["--timings", "none.ctm"], "нет такого файла", id="timings"),
        pytest.param(["-o", "r.txt"], "кончаться на .json\n", id="output"),
        pytest.param(["-o", "r.xlsx"], "кончаться на .json\n", id="Excel"),
        pytest.param(["-o", "r.html"], "кончаться на .json\n", id="page"),
        pytest.param(
            ["--history", "a/b/c"],
            "--history a/b/c: сюда не удаётся записать: нет каталога над ним",
            id="history",
        ),
        pytest.param(
            ["--plots", f"{__file__}/c"],
            f"--plots {__file__}/c: сюда не удаётся записать: на пути стоит файл, а не каталог",
            id="plots",
        ),
        pytest.param(["--aligner", "нет"], "нет модели «нет»", id="aligner"),
        pytest.param(["--aligner", "x=нет"], "--aligner x=нет: нет каталога", id="aligner folder"),
        pytest.param(["-m", "vosk-stream=нет"], "нет каталога нет", id="model folder"),
        pytest.param(["-m", "dummy=."], "у модели dummy нет файлов", id="no files"),
        pytest.param(["--save-timings", "m.csv"], "--save-timings m.csv: имя", id="save timings"),
        pytest.param(["--no-vad", "--vad-dir", "."], "вместе не имеют", id="two vads"),
        pytest.param(["--vad-dir", "."], "нет файла silero_vad.onnx", id="vad"),
        pytest.param(["--quantization", "../x"], "--quantization: «../x» – не то", id="weights"),
    ],
)
def test_a_wrong_request_is_exit_code_2(
    manifest: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    assert stt_ru(monkeypatch, "stream", manifest, "-m", "dummy", *arguments) == 2
    assert message in capsys.readouterr().err


def test_the_times_of_words_may_not_replace_the_manifest(
    manifest: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("stream", manifest, "-m", "dummy", "--save-timings", manifest)
    assert stt_ru(monkeypatch, *arguments) == 2
    assert f"--save-timings {manifest} стёр бы {manifest}" in capsys.readouterr().err


def test_a_model_of_ones_own_is_kept_from_the_network_too(
    manifest: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    own = manifest.parent / "own.py"
    own.write_text(
        "import os\nfrom stt_ru.streaming import DummyASR\n"
        "def make():\n    print('сети нет:', os.environ['HF_HUB_OFFLINE'])\n    return DummyASR()\n"
    )
    assert stt_ru(monkeypatch, "stream", manifest, "-m", f"{own}:make", "--offline") == 0
    assert "сети нет: 1" in capsys.readouterr().err


def test_words_of_another_text_are_refused_before_anything_is_loaded(
    manifest: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest.write_text(manifest.read_text().replace('"text": "1 2"', '"text": "1 3"'))
    assert stt_ru(monkeypatch, "stream", manifest, "-m", "dummy") == 2
    assert "слово 2 – «2», а в тексте «3»" in capsys.readouterr().err


def test_a_streaming_model_of_ones_own(
    manifest: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    own = manifest.parent / "own.py"
    own.write_text("from stt_ru.streaming import DummyASR as make\n")
    assert stt_ru(monkeypatch, "stream", manifest, "-m", f"{own}:make", "-q") == 0
    assert "make" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("raise SystemExit('нет ключа')", "SystemExit: нет ключа"),
        ("return Own(5)", "Own.name: нужна непустая строка, а не 5"),
        ("return Own", "type – не распознаватель"),
        ("return 5", "функция вернула int, а нужен StreamingASR"),
    ],
)
def test_a_model_of_ones_own_that_cannot_be_used_did_not_load(
    manifest: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    body: str,
    why: str,
) -> None:
    own = manifest.parent / "own.py"
    own.write_text(
        "class Own:\n"
        "    def __init__(self, name):\n        self.name = name\n"
        "    def transcribe(self, path):\n        raise AssertionError\n"
        f"def make():\n    {body}\n"
    )
    arguments = ("stream", manifest, "-m", f"{own}:make", "-m", "dummy", "-q")
    assert stt_ru(monkeypatch, *arguments) == 1
    printed = capsys.readouterr()
    assert why in printed.err
    assert "(не загружена)" in printed.out.splitlines()[1]
    assert printed.out.splitlines()[2].startswith("dummy")


def test_a_streaming_model_is_measured_on_whole_recordings_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    demo = Path(__file__).parents[2] / "fixtures" / "demo" / "02-accept.wav"
    manifest = tmp_path / "m.jsonl"
    manifest.write_text(json.dumps({"audio": str(demo), "text": "принять звонок"}) + "\n")
    report = tmp_path / "r.json"
    arguments = ("evaluate", manifest, "-m", "tiny-ru-stream", "-q", "--offline", "-o", report)
    assert stt_ru(monkeypatch, *arguments) == 0
    row = capsys.readouterr().out.splitlines()[1]
    assert row.startswith("tiny-ru-stream (демонстрационная)  ")
    model = json.loads(report.read_text())["models"][0]
    assert model["results"][0]["hypothesis"]
    fields = dict(field.split(":", 1) for field in model["signature"].split("|"))
    weights = weights_digest(MODEL_DIR / name for name in FILES)
    assert (fields["stream"], fields["weights"], fields["channel"]) == ("own", weights, "own")


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ("", ""),
        ("--mono --variants --offline", ""),
        ("--language en", "--language"),
        (  # given is given, be it with the value it has anyway
            "--vad-threshold 0.5 --workers auto --quantization int8",
            "--quantization, --workers, --vad-threshold",
        ),
        ("--no-vad --workers 2 --mono", "--workers, --no-vad"),
        ("--max-speech-s 5 --device cpu --batch-size 4", "--device, --batch-size, --max-speech-s"),
        (
            "--quantization none --vad-threshold 0.4 --min-speech-ms 1 --min-silence-ms 1 "
            "--speech-pad-ms 1",
            "--quantization, --vad-threshold, --min-speech-ms, --min-silence-ms, --speech-pad-ms",
        ),
    ],
)
def test_options_that_a_streaming_model_has_not_are_named(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    given: str,
    named: str,
) -> None:
    demo = Path(__file__).parents[2] / "fixtures" / "demo" / "02-accept.wav"
    manifest = tmp_path / "m.jsonl"
    manifest.write_text(json.dumps({"audio": str(demo), "text": "принять звонок"}) + "\n")
    arguments = ("evaluate", manifest, "-m", "tiny-ru-stream", "-q", *given.split())
    assert stt_ru(monkeypatch, *arguments) == 0
    said = [line for line in capsys.readouterr().err.splitlines() if "не действуют" in line]
    line = f"Внимание: на потоковые модели (tiny-ru-stream) не действуют параметры: {named}"
    assert said == ([line] if named else [])


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ("--interval 0.1 --speed 1", ""),
        ("--device auto --step 0.5", "--step, --device"),
        (
            "--no-vad --device cpu --language en --quantization none --step 1",
            "--step, --quantization, --language, --device, --no-vad",
        ),
    ],
)
def test_stream_names_them_too_after_the_table(
    manifest: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    given: str,
    named: str,
) -> None:
    assert stt_ru(monkeypatch, "stream", manifest, "-m", "dummy", *given.split()) == 0
    said = capsys.readouterr().err.splitlines()
    remark = "задержки – по верным в итоге словам: 3 из 3"  # the first line after the table
    line = f"Внимание: на потоковые модели (dummy) не действуют параметры: {named}"
    assert said[said.index(remark) + 1 :][: bool(named)] == ([line] if named else [])
    assert sum("не действуют" in one for one in said) == bool(named)


@pytest.mark.parametrize("command_name", ["evaluate", "stream"])
def test_an_engine_without_its_folder_is_exit_code_2(
    manifest: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command_name: str,
) -> None:
    assert stt_ru(monkeypatch, command_name, manifest, "-m", "sherpa-stream") == 2
    assert "-m sherpa-stream=КАТАЛОГ" in capsys.readouterr().err


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from typer.testing import CliRunner\n"
        "from stt_ru.cli.app import app\n"
        "result = CliRunner().invoke(app, ['stream', '--help'])\n"
        "assert result.exit_code == 0 and '--realtime' in result.output, result.output\n"
        "import stt_ru.streaming\n"
        "print(*sys.modules)\n"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ
    )
    assert not {"numpy", "onnxruntime", "onnx_asr", "matplotlib"} & set(out.stdout.split())
