from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from stt_ru.errors import UsageError
from stt_ru.recognition.user_modules import load_module, user_factory
from stt_ru.simultaneous.agents.loading import load_agent_class

LOADERS: list[tuple[str, str, Callable[[str], object]]] = [
    ("-m", ":make", lambda path: user_factory(f"{path}:make")),
    ("--agent", "", load_agent_class),
    ("--agent", ":Mine", lambda path: load_agent_class(f"{path}:Mine")),
    ("--metrics-file", "", lambda path: load_module(path, "--metrics-file")),
]

each_loader = pytest.mark.parametrize(
    ("option", "suffix", "load"), LOADERS, ids=[option + suffix for option, suffix, _ in LOADERS]
)


@each_loader
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("import sys; sys.exit('нет ключа')", "SystemExit: нет ключа"),
        ("raise SystemExit", "SystemExit"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("import нет_такого", "ModuleNotFoundError: No module named 'нет_такого'"),
    ],
)
def test_whatever_a_module_raises_is_one_sentence(
    tmp_path: Path,
    option: str,
    suffix: str,
    load: Callable[[str], object],
    text: str,
    why: str,
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(text, "utf-8")
    with pytest.raises(UsageError) as error:
        load(str(file))
    what = f"модуль {file}" if suffix else "модуль"
    assert str(error.value) == f"{option} {file}{suffix}: {what} не загрузился: {why}"


@each_loader
def test_a_file_that_is_not_there_is_named(
    option: str, suffix: str, load: Callable[[str], object]
) -> None:
    with pytest.raises(UsageError) as error:
        load("нет.py")
    assert str(error.value) == f"{option}: нет файла нет.py"


def test_a_ctrl_c_while_a_module_loads_is_nobodys_failure(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("raise KeyboardInterrupt", "utf-8")
    with pytest.raises(KeyboardInterrupt):
        load_module(str(file), "-m")


@each_loader
def test_a_module_beside_the_file_is_found(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    option: str,
    suffix: str,
    load: Callable[[str], object],
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    neighbour = f"neighbour_{abs(hash(option + suffix))}"
    (tmp_path / f"{neighbour}.py").write_text(
        "from stt_ru.simultaneous import ReadAction, TextToTextAgent, entrypoint\n"
        "@entrypoint\n"
        "class Mine(TextToTextAgent):\n"
        "    def policy(self, states=None):\n        return ReadAction()\n"
    )
    file = tmp_path / "mine.py"
    file.write_text(f"from {neighbour} import Mine\ndef make():\n    return Mine()\n")
    assert load(str(file)) is not None


def test_a_file_beside_it_does_not_stand_in_for_the_librarys(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import quopri\ndef make():\n    return quopri.__file__\n")
    (tmp_path / "quopri.py").write_text("")  # a name that nothing has imported yet
    code = (
        "import sys; from stt_ru.recognition.user_modules import user_factory\n"
        "print(user_factory(sys.argv[1])())"
    )
    out = subprocess.run(
        [sys.executable, "-c", code, f"{tmp_path / 'mine.py'}:make"],
        capture_output=True,
        text=True,
        check=True,
        cwd="/",
    )
    assert Path(out.stdout.strip()).parent != tmp_path
