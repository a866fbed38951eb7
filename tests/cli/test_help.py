from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

from stt_ru.cli.russian import completion_in_russian
from tests.cli.conftest import Place

HEAVY = ("numpy", "onnxruntime", "onnx_asr", "soundfile", "huggingface_hub", "matplotlib", "rich")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["evaluate", "--help"],
        ["score", "--help"],
        ["compare", "--help"],
        ["report", "--help"],
    ],
)
def test_help_is_the_golden_one(
    place: Place, golden: Callable[[str, str], None], arguments: list[str]
) -> None:
    done = place.run(*arguments, env={"COLUMNS": "80"})
    golden(f"help-{'-'.join(arguments[:-1]) or 'stt-ru'}.txt", done.stdout)


def test_without_arguments_the_command_shows_its_help(place: Place) -> None:
    assert "Команды:" in place.run(code=2).stderr
    assert "МАНИФЕСТ" in place.run("evaluate", code=2).stderr


def test_help_is_shown_whatever_else_is_given(place: Place) -> None:
    assert "МАНИФЕСТ" in place.run("evaluate", "-o", "a.md", "-o", "b.md", "--help").stdout


def test_version(place: Place) -> None:
    assert place.run("--version").stdout.startswith("stt-ru 0.")


@pytest.mark.parametrize(
    "code",
    [
        "import stt_ru; stt_ru.__all__",
        "import stt_ru.defaults",
        "import stt_ru.cli as c; c.app",
        "from stt_ru.cli.entry import run; sys.argv[1:] = ['--help']; run()",
        "from stt_ru.cli.entry import run; sys.argv[1:] = ['evaluate', 'нет.csv']; run()",
        "from stt_ru.cli.entry import run; sys.argv[1:] = 'evaluate eval.csv -o /'.split(); run()",
    ],
)
def test_nothing_heavy_is_loaded_before_it_is_needed(place: Place, code: str) -> None:
    program = f"import sys; {code}; print('LOADED', *sys.modules)"
    out = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=place.folder,
    )
    loaded = set(out.stdout.rpartition("LOADED")[2].split())
    assert "stt_ru" in loaded
    assert not loaded & set(HEAVY)


def test_completion_can_be_shown(place: Place) -> None:
    done = place.run(
        env={"_STT_RU_COMPLETE": "complete_bash", "COMP_WORDS": "stt-ru ev", "COMP_CWORD": "1"}
    )
    assert done.stdout.split() == ["evaluate"]


@pytest.mark.parametrize("given", ["", "-o a.html -o b.html "])
def test_names_of_models_are_completed(place: Place, given: str) -> None:
    line = f"stt-ru evaluate {given}-m tiny"
    words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
    done = place.run(env={"_STT_RU_COMPLETE": "complete_bash", **words})
    assert done.stdout.split() == ["tiny-ru", "tiny-ru-stream"]


def test_what_is_said_of_completion_is_russian(capsys: pytest.CaptureFixture[str]) -> None:
    with completion_in_russian(["stt-ru", "--install-completion"]):
        print("bash completion installed in /home/ваня/stt-ru.sh\nCompletion will take effect …")
    assert capsys.readouterr().out == (
        "Дополнение команд по Tab для bash записано в /home/ваня/stt-ru.sh. Оно заработает в новом "
        "окне терминала\n"
    )
    with completion_in_russian(["stt-ru", "--version"]):
        print("stt-ru 0.4.0")
    assert capsys.readouterr().out == "stt-ru 0.4.0\n"


def test_every_public_name_is_there() -> None:
    import stt_ru
    from stt_ru import evaluation

    assert all(hasattr(stt_ru, name) for name in stt_ru.__all__)
    assert set(stt_ru.__all__) <= set(dir(stt_ru))
    assert all(hasattr(evaluation, name) for name in evaluation.__all__)
    with pytest.raises(AttributeError, match="no attribute 'нет'"):
        stt_ru.нет  # noqa: B018
