"""``stt-ru simul`` as a user meets it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from stt_ru.cli import entry
from stt_ru.cli.parsing import one_name_a_flag, set_agent_options_aside, split_names
from stt_ru.simultaneous.scorers import LATENCY_SCORERS, QUALITY_SCORERS
from tests.conftest import ROOT, tone, write_wav

FIXTURES = ROOT / "fixtures" / "simul"

AGENT = '''
"""An agent for the tests, with a measure of its own."""
import sys, time
from stt_ru.simultaneous import entrypoint, SpeechToTextAgent, ReadAction, WriteAction
from stt_ru.simultaneous.scorers import register_latency_scorer

@register_latency_scorer("LAST")
class Last:
    def __call__(self, instances):
        lasts = [ins.delays[-1] / ins.source_length for ins in instances.values()]
        return sum(lasts) / len(lasts)

@register_latency_scorer("RTF")
class Own:
    def __call__(self, instances):
        return 42.0

@entrypoint
class Agent(SpeechToTextAgent):
    @staticmethod
    def add_args(parser):
        parser.add_argument("--fail-on", type=int, default=-1)
        parser.add_argument("--slow", action="store_true")

    def __init__(self, args):
        super().__init__(args)
        self.runs = -1

    def reset(self):
        super().reset()
        self.runs = getattr(self, "runs", -1) + 1

    def policy(self, states=None):
        if self.args.slow and self.runs == 1:
            print("started", file=sys.stderr, flush=True)
            time.sleep(60)
        if self.runs == self.args.fail_on:
            raise RuntimeError("не вышло")
        if not self.states.source_finished:
            return ReadAction()
        return WriteAction("мама мыла раму", finished=True)
'''


@dataclass(frozen=True)
class Done:
    """What a run printed."""

    stdout: str
    stderr: str


@dataclass(frozen=True)
class Place:
    """A folder with two recordings, a manifest, lists and an agent; it is the current one."""

    folder: Path
    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "stt_ru", "simul", *arguments]

    def run(self, *arguments: str, code: int = 0) -> Done:
        """Run the command in this process, as ``stt-ru`` does but for signals."""
        self.monkeypatch.setattr(sys, "argv", ["stt-ru", "simul", *arguments])
        returned = entry._run_command()
        done = Done(*self.capsys.readouterr())
        assert returned == code, (returned, done)
        return done


@pytest.fixture
def place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Place:
    monkeypatch.chdir(tmp_path)
    for registry in (LATENCY_SCORERS, QUALITY_SCORERS):
        monkeypatch.setattr(registry, "_users", {})
    write_wav(tmp_path / "a.wav", tone(0.5))
    write_wav(tmp_path / "b.wav", tone(0.25))
    (tmp_path / "eval.csv").write_text("audio;text\na.wav;Мама мыла раму\nb.wav;Мама\n", "utf-8")
    (tmp_path / "wavs.txt").write_text("a.wav\nb.wav\n", "utf-8")
    (tmp_path / "texts.txt").write_text("мама мыла раму\nмама\n", "utf-8")
    (tmp_path / "agent.py").write_text(AGENT, "utf-8")
    return Place(tmp_path, monkeypatch, capsys)


def test_relative_paths_are_of_the_folder_the_command_was_started_in(place: Place) -> None:
    away = place.folder / "away"
    away.mkdir()
    agent = AGENT.replace("import sys, time", f"import os, sys, time\nos.chdir({str(away)!r})")
    at_each_step = f"        os.chdir({str(away)!r})\n        if self.args.slow"
    agent = agent.replace("        if self.args.slow", at_each_step, 1)
    (place.folder / "agent.py").write_text(agent, "utf-8")
    done = place.run(
        *("--source", "wavs.txt", "--target", "texts.txt", "--agent", "agent.py"),
        *("--quality-metrics", "WER", "--latency-metrics", "AL", "--output", "out"),
    )
    assert "Прогон записан: out" in done.stderr
    assert len((place.folder / "out" / "instances.log").read_text("utf-8").splitlines()) == 2
    assert (place.folder / "out" / "scores.tsv").is_file()
    assert not list(away.iterdir())


def test_what_an_agent_prints_stays_out_of_the_table(place: Place) -> None:
    agent = AGENT.replace("@entrypoint\n", "print('гружусь')\n@entrypoint\n")
    agent = agent.replace(
        "        if self.args.slow", "        print('думаю')\n        if self.args.slow"
    )
    (place.folder / "agent.py").write_text(agent, "utf-8")
    done = place.run(
        *("eval.csv", "--agent", "agent.py"),
        *("--quality-metrics", "WER", "--latency-metrics", "AL"),
    )
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["Показатель", "WER", "AL"]
    assert "гружусь" in done.stderr
    assert "думаю" in done.stderr


def test_the_wait_k_example_prints_bleu_and_rtf(place: Place) -> None:
    pytest.importorskip("sacrebleu")
    done = place.run(
        "--source", str(FIXTURES / "source.txt"), "--target", str(FIXTURES / "target.txt"),
        "--agent", str(FIXTURES / "waitk.py"), "--latency-metrics", "RTF",
    )  # fmt: skip

    assert done.stdout.splitlines() == [
        "Показатель  Значение  Единица  Оценено",
        "BLEU         100.000            2 из 2",
        "RTF            1.000            2 из 2",
    ]
    assert "BLEU: nrefs:1|case:mixed" in done.stderr


@pytest.mark.parametrize(
    "metrics",
    [["--latency-metrics", "AL", "LAAL"], ["--latency-metrics", "AL,LAAL"],
     ["--latency-metrics", "AL", "--latency-metrics", "LAAL"], ["--latency-metrics=AL,LAAL"]],
)  # fmt: skip
def test_several_metrics_after_one_flag_a_comma_or_repeated_are_one(
    place: Place, metrics: list[str]
) -> None:
    done = place.run("eval.csv", *metrics, "--quality-metrics", "WER", "--agent", "agent.py")

    assert [line.split()[0] for line in done.stdout.splitlines()] == [
        "Показатель", "WER", "AL", "LAAL",
    ]  # fmt: skip


def test_a_manifest_or_lists_of_recordings_give_the_same(place: Place) -> None:
    rest = ("--agent", "agent.py", "--quality-metrics", "WER", "CER", "--latency-metrics", "AL")
    manifest = place.run(*rest, "eval.csv")
    lists = place.run("--source", "wavs.txt", "--target", "texts.txt", *rest)

    assert manifest.stdout == lists.stdout
    assert "WER             50.0  %         2 из 2" in manifest.stdout  # 2 insertions of 4 words
    assert "AL           375.000  мс        2 из 2" in manifest.stdout


def test_a_users_measures_are_found_and_replace_builtins_with_a_warning(place: Place) -> None:
    done = place.run(
        "eval.csv", "--agent", "agent.py", "--quality-metrics", "WER",
        "--latency-metrics", "LAST", "RTF", "LAST_CA",
    )  # fmt: skip

    assert "LAST           1.000" in done.stdout
    assert "RTF           42.000" in done.stdout
    assert "Внимание: встроенный расчёт RTF заменён классом Own" in done.stderr


def test_an_option_of_the_agent_reaches_it_and_its_failure_is_said(place: Place) -> None:
    done = place.run(
        "eval.csv", "--agent", "agent.py", "--fail-on", "1", "--quality-metrics", "WER", code=1
    )

    assert "1 из 2" in done.stdout
    assert "Ошибка: пример 1: RuntimeError: не вышло" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("--agent agent.py", "не указаны данные"),
        ("eval.csv", "не указан --agent"),
        ("eval.csv --source wavs.txt --agent agent.py", "либо манифест, либо"),
        ("eval.csv --agent agent.py --latncy-metrics AL", "похожие: --latency-metrics"),
        ("eval.csv --agent agent.py --fail-on икс", "параметры агента"),
        ("eval.csv --agent agent.py --latency-metrics LAL", "нет показателя задержки «LAL»; есть"),
        ("eval.csv --agent agent.py --quality-metrics BLUE", "есть: BLEU"),
        ("eval.csv --agent нет.py", "нет файла нет.py"),
        ("нет.csv --agent agent.py", "нет.csv"),
        ("--source wavs.txt --target eval.csv --agent agent.py", "нужно поровну"),
        ("eval.csv --agent agent.py --source-type text", "в манифесте записи"),
        ("eval.csv --agent agent.py --start-index 5", "примеров 2"),
        ("eval.csv --agent agent.py --output eval.csv", "eval.csv: не записать"),
        ("eval.csv --agent agent.py --continue-unfinished", "укажите --output"),
        ("eval.csv --agent agent.py --quality-metrics ASR_BLEU", "этот агент пишет текст"),
        ("eval.csv --agent agent.py --remote-port 1", "не нужны: манифест"),
        ("--agent agent.py --remote-port 1 --quality-metrics WER", "не нужны: --quality-metrics"),
        ("--agent agent.py --remote-port 1 --score-only", "не нужны: --score-only"),
        (
            "--agent agent.py --remote-address localhost --latency-metrics AL AP DAL "
            "--sacrebleu-tokenizer 13a --asr-model gigaam-v3-e2e-rnnt",
            "не нужны: --latency-metrics, --sacrebleu-tokenizer, --asr-model",
        ),
        ("--agent agent.py --remote-port 99999", "от 1 до 65535"),
        ("--score-only", "укажите --output"),
        ("--score-only --output нет", "журнал нет: такого файла или каталога нет"),
    ],
)
def test_a_wrong_request_says_what_is_wrong(place: Place, arguments: str, reason: str) -> None:
    done = place.run(*arguments.split(), code=2)

    assert reason in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("before", "inserted", "code", "said"),
    [
        ("@entrypoint\n", "", 2, "--agent agent.py: модуль не загрузился: SystemExit: нет ключа"),
        (
            "        parser.add",
            " " * 8,
            2,
            "параметры агента: SystemExit: нет ключа",
        ),
        ("        super().__init__", " " * 8, 1, "агент не создан: SystemExit: нет ключа"),
        ("        if self.args.slow", " " * 8, 1, "пример 0: SystemExit: нет ключа"),
        ("        return 42.0", " " * 8, 1, "показатель RTF: SystemExit: нет ключа"),
    ],
    ids=["module", "options", "making", "policy", "measure"],
)
def test_an_agent_that_quits_is_a_sentence_and_not_the_end(
    place: Place, before: str, inserted: str, code: int, said: str
) -> None:
    agent = AGENT.replace(before, f"{inserted}sys.exit('нет ключа')\n{before}", 1)
    (place.folder / "agent.py").write_text(agent, "utf-8")
    measures = ("--quality-metrics", "WER", "--latency-metrics", "RTF")
    done = place.run("eval.csv", "--agent", "agent.py", *measures, code=code)
    assert said in done.stderr
    assert done.stdout == "" or done.stdout.startswith("Показатель")


def test_a_run_is_scored_again_without_the_agent(place: Place) -> None:
    rest = ("--quality-metrics", "WER", "--latency-metrics", "AL", "DAL")
    first = place.run("eval.csv", "--agent", "agent.py", "--output", "out", *rest)
    (place.folder / "out" / "scores.tsv").unlink()
    again = place.run("--score-only", "--output", "out", *rest)
    by_file = place.run("--score-only", "--output", "out/instances.log", *rest)

    assert first.stdout == again.stdout == by_file.stdout
    assert (place.folder / "out" / "scores.tsv").exists()


def test_a_log_is_scored_by_its_own_references_which_is_said(place: Place) -> None:
    rest = ("--quality-metrics", "WER", "--latency-metrics", "AL")
    first = place.run("eval.csv", "--agent", "agent.py", "--output", "out", *rest)
    (place.folder / "eval.csv").write_text("audio;text\na.wav;Другое\nb.wav;Другое\n", "utf-8")
    again = place.run("eval.csv", "--score-only", "--output", "out", *rest)

    assert again.stdout == first.stdout
    assert "эталоны взяты из журнала" in again.stderr


def test_a_log_of_simuleval_is_scored(place: Place) -> None:
    done = place.run(
        "--score-only", "--output", str(FIXTURES / "simuleval-instances.log"),
        "--latency-metrics", "AL", "LAAL", "AP", "DAL", "--quality-metrics", "WER",
    )  # fmt: skip
    # SimulEval 1.1.4 printed 3.0, 3.0, 0.939, 3.0 for it.
    figures = [line.split()[1] for line in done.stdout.splitlines()[1:]]

    assert figures == ["0.0", "3.000", "3.000", "0.939", "3.000"]


def test_an_interrupted_run_keeps_what_is_done_and_goes_on(place: Place) -> None:
    rest = ("eval.csv", "--agent", "agent.py", "--output", "out", "--quality-metrics", "WER")
    process = subprocess.Popen(
        place.command(*rest, "--slow"),
        cwd=place.folder,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    log = place.folder / "out" / "instances.log"
    assert process.stderr is not None
    assert "started\n" in iter(process.stderr.readline, "")  # the second instance has begun
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)

    assert process.returncode == 130
    assert out == ""
    assert "готово примеров" in err
    assert "--continue-unfinished" in err
    assert len(log.read_text("utf-8").splitlines()) == 1


def test_what_was_interrupted_goes_on(place: Place) -> None:
    rest = ("eval.csv", "--agent", "agent.py", "--output", "out", "--quality-metrics", "WER")
    place.run(*rest)
    log = place.folder / "out" / "instances.log"
    log.write_text(log.read_text("utf-8").splitlines(keepends=True)[0], "utf-8")
    done = place.run(*rest, "--continue-unfinished", "--latency-metrics", "NumChunks")

    assert "2 из 2" in done.stdout
    assert len(log.read_text("utf-8").splitlines()) == 2


def test_settings_of_a_run_are_written(place: Place) -> None:
    place.run(
        "eval.csv", "--agent", "agent.py", "--output", "out", "--quality-metrics", "WER",
        "--fail-on", "7",
    )  # fmt: skip
    config = dict(
        line.split(": ", 1)
        for line in (place.folder / "out" / "config.yaml").read_text("utf-8").splitlines()
    )

    assert json.loads(config["agent_options"]) == ["--fail-on", "7"]
    assert json.loads(config["source_segment_size"]) == 10


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")
def test_scores_are_written_also_when_the_table_cannot_be_printed(place: Place) -> None:
    arguments = ("--quality-metrics", "WER", "--latency-metrics", "AL", "--output", "out")
    place.run("eval.csv", "--agent", "agent.py", *arguments)
    (place.folder / "out" / "scores.tsv").unlink()
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            place.command("--score-only", *arguments),
            stdout=full,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
    assert done.returncode == 1
    assert "вывод не записан: на диске нет места" in done.stderr
    assert (place.folder / "out" / "scores.tsv").is_file()


def test_names_of_measures_in_all_spellings() -> None:
    assert split_names(None, ("A",)) == ("A",)
    assert split_names(["AL,LAAL", "AP"], ()) == ("AL", "LAAL", "AP")
    assert one_name_a_flag(["--latency-metrics", "A", "B", "--agent", "x"]) == (
        ["--latency-metrics", "A", "--latency-metrics", "B", "--agent", "x"]
    )


def test_values_of_the_agents_options_stay_with_them() -> None:
    own, agents = set_agent_options_aside(
        ["m.csv", "--x", "1", "-2", "--flag", "--own", "v", "--y=3", "--metrics", "a", "b"],
        {"--own": True, "--flag": False, "--metrics": True},
    )

    assert own == ["m.csv", "--flag", "--own", "v", "--metrics", "a", "b"]
    assert agents == ["--x", "1", "-2", "--y=3"]


def test_nothing_heavy_is_loaded_for_help_or_a_wrong_request(place: Place) -> None:
    program = (
        "import sys; from stt_ru.cli.entry import run; sys.argv[1:] = sys.argv[2:]; run(); "
        "print('LOADED', *sys.modules)"
    )
    for arguments in (["simul", "--help"], ["simul", "нет.csv", "--agent", "agent.py"]):
        out = subprocess.run(
            [sys.executable, "-c", program, "-", *arguments],
            cwd=place.folder,
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ},
        )
        loaded = set(out.stdout.rpartition("LOADED")[2].split())
        assert "stt_ru.cli.simul" in loaded
        assert not loaded & {"numpy", "onnxruntime", "onnx_asr", "sacrebleu", "starlette", "rich"}
