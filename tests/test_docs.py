"""The documentation does what it says: its examples run, its tables are complete.

CONTRIBUTING.md, «Examples in the documentation», describes the forms. Blocks of a page run from top
to bottom in one temporary folder, where ``fixtures/`` is the repository's.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import typer

from stt_ru import errors
from stt_ru.analysis.aligned_rows import AlignedReport
from stt_ru.analysis.punctuation import writing
from stt_ru.analysis.significance import describe
from stt_ru.analysis.spelling import spelling_of
from stt_ru.cli.app import app
from stt_ru.cli.compare import WORSE
from stt_ru.report.json_write import json_report
from stt_ru.results import FileResult, ModelReport, Segment
from stt_ru.scoring.counts import Score
from stt_ru.scoring.relaxed import FILLERS, Glossary, Rules
from stt_ru.text.normalize import normalize
from tests.conftest import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
TRANSLATED = "README.ru.md"  # its blocks are those of README.md, and run there
IDS = [page.relative_to(ROOT).as_posix() for page in PAGES]

NOT_RUN: dict[str, int] = {
    "README.md": 2,
    "README.ru.md": 2,
    "docs/compare.md": 1,
    "docs/html.md": 1,
    "docs/models.md": 1,
    "docs/score.md": 1,
}
"""Blocks marked «not run», by page: a mark more or less is a change here too."""

SHELL_COMMANDS = {"cd", "git", "make", "pip", "python", "python3", "source", ".venv/bin/stt-ru"}
"""First words allowed in ``sh`` blocks, which are not run: what sets the tool up."""

CALLS = {"001.wav": "17-wrong-number.wav", "002.mp3": "05-taxi.mp3"}
"""Recordings in the folder ``calls/``, for examples in which a user's own are meant."""

EXIT_CODES = {0, 130, 143} | {
    error.exit_code
    for error in vars(errors).values()
    if isinstance(error, type) and issubclass(error, errors.SttRuError)
}

# What differs from run to run, and what it becomes before texts are compared.
VARYING = (
    (r" *\b\d+\.\d+x", " <speed>"),
    (r'"(speed|seconds|wall_seconds)": *\d[\d.e+-]*', r'"\1": <number>'),
    (r'"created_at": *"[^"]*"', '"created_at": <time>'),
    (r'"session_id": *"[0-9a-f]{16}"', '"session_id": <name>'),
    (r"\b(stt-ru|onnx-asr|onnxruntime)([: ])\d[\w.]*", r"\1\2<version>"),
    (r"\bworkers:\d+", "workers:<number>"),
)
FOLDER = "/data"
"""What the temporary folder is called in outputs."""

# Progress: on a terminal it is a bar that is gone at the end.
PROGRESS = re.compile(r".+: (загружается|\d+ из \d+, аудио .+)")
ANY_LINES = "…"


@dataclass(frozen=True)
class Block:
    """A fenced block of a page.

    Attributes:
        line: Line of the opening fence, from 1.
        kind: The word after the fence, e.g. ``python``.
        mark: What a comment ``<!-- docs: … -->`` right before it says; else empty.
        text: Its lines.
        follows: Whether only blank lines part it from the block before.
    """

    page: Path
    line: int
    kind: str
    mark: str
    text: tuple[str, ...]
    follows: bool

    @property
    def place(self) -> str:
        return f"{self.page.name}:{self.line}"

    @property
    def is_run(self) -> bool:
        return not self.mark.startswith("not run")


def blocks_of(page: Path) -> list[Block]:
    found: list[Block] = []
    lines = page.read_text(encoding="utf-8").split("\n")
    before = ""  # the last line that is not blank
    number = 0
    while number < len(lines):
        fence = re.fullmatch(r"```(\S*)", lines[number])
        if fence is None:
            before = lines[number].strip() or before
            number += 1
            continue
        end = lines.index("```", number + 1)
        mark = re.fullmatch(r"<!-- docs: (.+) -->", before)
        found.append(
            Block(
                page,
                number + 1,
                fence[1],
                mark[1] if mark else "",
                tuple(lines[number + 1 : end]),
                follows=before == "```",
            )
        )
        before = "```"
        number = end + 1
    return found


class Place:
    """A folder in which a page's blocks run, with ``stt-ru`` and ``python`` on the path."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "page"
        self.folder.mkdir(parents=True)
        (self.folder / "fixtures").symlink_to(ROOT / "fixtures")
        (self.folder / "calls").mkdir()
        for name, recording in CALLS.items():
            (self.folder / "calls" / name).symlink_to(ROOT / "fixtures" / "demo" / recording)
        tools = folder / "bin"
        tools.mkdir()
        for name, arguments in (("stt-ru", "-m stt_ru"), ("python", "")):
            (tools / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n')
            (tools / name).chmod(0o755)
        self._environment = {
            **os.environ,
            "PATH": f"{tools}{os.pathsep}{os.environ.get('PATH', '')}",
            "HOME": str(folder),
            "HF_HOME": str(folder / "hugging-face"),
            "HF_HUB_OFFLINE": "1",
            "PYTHONUTF8": "1",
            "COLUMNS": "80",
        }
        self._returncode = 0

    def shell(self, command: str) -> tuple[str, int]:
        """Output of a command as a terminal shows it, and its exit code; ``$?`` is the last one."""
        return self._run(["bash", "-c", f"(exit {self._returncode}); {command}"])

    def python(self, block: Block) -> tuple[str, int]:
        code = "\n".join(block.text) + "\n"
        if code.startswith(">>> "):
            (self.folder / "example.txt").write_text(code, encoding="utf-8")
            return self._run([sys.executable, "-m", "doctest", "example.txt"])
        (self.folder / "example.py").write_text(code, encoding="utf-8")
        return self._run([sys.executable, "example.py"])

    def _run(self, command: Sequence[str]) -> tuple[str, int]:
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=300,
            check=False,
        )
        self._returncode = done.returncode
        return done.stdout.replace(str(self.folder.resolve()), FOLDER), done.returncode


@dataclass(frozen=True)
class Difference:
    """Where a page shows something else than what is there."""

    block: Block
    shown: tuple[str, ...]
    real: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join([f"{self.block.place} shows", *self.shown, "but it is", *self.real])


def run_page(page: Path, folder: Path) -> list[Difference]:
    """Run all blocks of a page and compare what they print with what the page shows."""
    place = Place(folder)
    blocks = blocks_of(page)
    for block in blocks:
        if block.mark.startswith("file "):
            file = place.folder / block.mark.removeprefix("file ")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("\n".join(block.text) + "\n", encoding="utf-8")
    differences: list[Difference] = []
    for number, block in enumerate(blocks):
        if not block.is_run:
            continue
        if block.kind == "console":
            differences += _run_console(block, place)
        elif block.kind == "python" and not block.mark:
            output, code = place.python(block)
            assert code == 0, f"{block.place} ends with {code}:\n{output}"
            shown = blocks[number + 1 : number + 2]
            if shown and shown[0].kind == "text" and shown[0].follows:
                real = tuple(output.rstrip("\n").split("\n"))
                if not is_shown(shown[0].text, real):
                    differences.append(Difference(shown[0], shown[0].text, real))
            elif not block.text[0].startswith(">>> "):
                assert not output, f"{block.place} prints what the page does not show:\n{output}"
    return differences


def _run_console(block: Block, place: Place) -> Iterator[Difference]:
    real: list[str] = []
    starts = [n for n, line in enumerate(block.text) if line.startswith("$ ")]
    assert starts, f"{block.place}: no command; a command starts with «$ »"
    assert starts[0] == 0, f"{block.place}: output before the first command"
    commands = [block.text[start].removeprefix("$ ") for start in starts]
    for command, following in zip(commands, [*commands[1:], ""], strict=True):
        output, code = place.shell(command)
        if following != "echo $?":
            assert code == 0, f"{block.place}: «{command}» ends with {code}:\n{output}"
        real += [f"$ {command}", *without_progress(output.split("\n")[:-1])]
    if not is_shown(block.text, real):
        yield Difference(block, block.text, tuple(real))


def without_progress(lines: Sequence[str]) -> list[str]:
    return [line for line in lines if not PROGRESS.fullmatch(line)]


def is_shown(shown: Sequence[str], real: Sequence[str]) -> bool:
    """Whether the texts agree: `VARYING` figures aside, a line «…» standing for any lines."""
    pattern = "".join(
        "(?:.*\n)*?" if line.strip() == ANY_LINES else re.escape(steady(line.rstrip())) + "\n"
        for line in shown
    )
    text = "".join(steady(line.rstrip()) + "\n" for line in real)
    return re.fullmatch(pattern, text) is not None


def steady(line: str) -> str:
    for pattern, replacement in VARYING:
        line = re.sub(pattern, replacement, line)
    return line


def settle(differences: Sequence[Difference], request: pytest.FixtureRequest) -> None:
    """Fail for the differences, or put the real outputs into the pages with --update-golden.

    Those that a page shows only in part are left to a person.
    """
    left = list(differences)
    if request.config.getoption("--update-golden"):
        left = [difference for difference in differences if ANY_LINES in difference.block.text]
        rewrite([difference for difference in differences if difference not in left])
    assert not left, "\n\n".join(map(str, left))


def rewrite(differences: Sequence[Difference]) -> None:
    for difference in sorted(differences, key=lambda one: -one.block.line):
        block = difference.block
        lines = block.page.read_text(encoding="utf-8").split("\n")
        lines[block.line : block.line + len(block.text)] = difference.real
        block.page.write_text("\n".join(lines), encoding="utf-8")


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(ROOT / name, id=name, marks=() if name == "README.md" else pytest.mark.slow)
        for name in IDS
        if name != TRANSLATED
    ],
)
def test_the_examples_of_a_page_do_what_it_shows(
    page: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    differences = run_page(page, tmp_path)
    settle(differences, request)


def test_blocks_that_are_not_run_are_counted() -> None:
    marked = Counter(
        name
        for name, page in zip(IDS, PAGES, strict=True)
        for block in blocks_of(page)
        if not block.is_run
    )
    assert dict(marked) == NOT_RUN
    for page in PAGES:
        for block in blocks_of(page):
            assert block.is_run or re.fullmatch(r"not run: .{10,}", block.mark), (
                f"{block.place}: say why it is not run"
            )


def test_every_block_has_a_kind_that_is_known() -> None:
    kinds = {"", "console", "csv", "json", "python", "sh", "text"}
    for page in PAGES:
        for block in blocks_of(page):
            assert block.kind in kinds, f"{block.place}: «{block.kind}»"
            if block.kind == "sh":  # a command of the tool is shown with its output, and run
                first = {line.split()[0] for line in block.text if line and line[0] != "#"}
                assert first <= SHELL_COMMANDS, f"{block.place}: {first - SHELL_COMMANDS}"


def test_links_between_the_pages_lead_somewhere() -> None:
    broken = []
    for page in PAGES:
        for target in links_of(page):
            name, _, anchor = target.partition("#")
            file = (page.parent / name).resolve() if name else page
            if not file.exists() or (anchor and anchor not in anchors_of(file)):
                broken.append(f"{page.name}: {target}")
    assert not broken


def links_of(page: Path) -> list[str]:
    text = re.sub(r"(?ms)^```.*?^```$|`[^`\n]*`", "", page.read_text(encoding="utf-8"))
    return [
        target
        for target in re.findall(r"\]\(([^)\s]+)\)", text)
        if not re.match(r"[a-z]+:", target)
    ]


def anchors_of(page: Path) -> set[str]:
    """Anchors of the headings as GitHub makes them."""
    text = re.sub(r"(?ms)^```.*?^```$", "", page.read_text(encoding="utf-8"))
    headings = re.findall(r"(?m)^#+ (.+)$", text)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_readmes_show_the_same(request: pytest.FixtureRequest) -> None:
    english, russian = (
        [block for block in blocks_of(ROOT / name) if block.kind != "sh"]
        for name in ("README.md", TRANSLATED)
    )
    assert [block.kind for block in english] == [block.kind for block in russian]
    differences = [
        Difference(theirs, theirs.text, ours.text)
        for ours, theirs in zip(english, russian, strict=True)
        if not is_shown(theirs.text, ours.text)
    ]
    settle(differences, request)


def docs(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def options_of(command: str) -> set[str]:
    group: Any = typer.main.get_command(app)
    return {option for parameter in group.commands[command].params for option in parameter.opts}


def test_every_option_of_evaluate_is_documented_and_no_other() -> None:
    options = {option for option in options_of("evaluate") if option.startswith("-")} | {"--help"}
    group: Any = typer.main.get_command(app)
    general = {option for parameter in group.params for option in parameter.opts}
    named = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", docs("evaluate.md")))
    assert options <= named
    assert {name for name in named if name.startswith("--")} <= options | general


def test_every_field_of_the_report_is_documented_and_no_other() -> None:
    row = FileResult(
        audio="a.wav",
        reference="да.",
        chosen="да.",
        hypothesis="да.",
        score=Score(),
        segments=[Segment(0.0, 1.0, "да")],
    )
    models = [ModelReport(model=name, label=name, rows=1, results=[row]) for name in "ab"]
    glossary = Glossary({("да",): 1, ("ага",): 1})
    rules = Rules(numbers=True, compounds=True, fillers=FILLERS, glossary=glossary)
    report = json_report(
        models,
        manifest="m.csv",
        created_at=datetime.now(UTC),
        statistics=describe([AlignedReport(model) for model in models]),
        spellings=[spelling_of(AlignedReport(model), rules) for model in models],
        writings=[writing(AlignedReport(model)) for model in models],
    )
    text = "".join(report)
    keys = set(re.findall(r'"(\w+)":', text))
    assert {"schema_version", "models", "wer", "results", "hypothesis"} <= keys
    documented = set(re.findall(r"(?m)^\| `(\w+)` \|", docs("report.md")))
    assert documented == keys


@pytest.mark.parametrize(
    ("page", "more"),
    [("README.md", {WORSE}), ("README.ru.md", {WORSE}), ("docs/evaluate.md", set())],
)
def test_every_exit_code_is_documented(page: str, more: set[int]) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert {int(code) for code in re.findall(r"(?m)^\| (\d+) \|", text)} == EXIT_CODES | more


def test_the_table_of_normalisation_is_what_happens() -> None:
    rows = re.findall(r"(?m)^\| `([^`]+)` \| (?:`([^`]+)`|пусто) \|", docs("normalisation.md"))
    assert len(rows) >= 15
    assert [(text, normalize(text)) for text, _ in rows] == rows


PAGE = """
<!-- docs: file data/a.txt -->
```text
раз
```

```console
$ cat data/a.txt
{shown}
$ test -f нет
$ echo $?
{code}
```

```python
print("два")
```

```text
{printed}
```
"""


@pytest.mark.parametrize(
    ("shown", "code", "printed", "wrong"),
    [
        pytest.param("раз", "1", "два", [], id="right"),
        pytest.param("…", "1", "два", [], id="any lines"),
        pytest.param("три", "1", "два", [7], id="output"),
        pytest.param("раз", "0", "два", [7], id="exit code"),
        pytest.param("раз", "1", "три", [19], id="Python"),
    ],
)
def test_a_page_that_shows_something_else_is_noticed(
    tmp_path: Path, shown: str, code: str, printed: str, wrong: list[int]
) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE.format(shown=shown, code=code, printed=printed), encoding="utf-8")
    assert [difference.block.line for difference in run_page(page, tmp_path / "x")] == wrong


def test_a_command_that_fails_unsaid_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```console\n$ false\n```\n")
    with pytest.raises(AssertionError, match=r"page\.md:1: «false» ends with 1"):
        run_page(page, tmp_path / "x")


@pytest.mark.parametrize(
    ("shown", "real", "same"),
    [
        ("tiny-ru  3.2  1.0   49.8x  2", "tiny-ru  3.2  1.0  1049.8x  2", True),
        ("tiny-ru  3.2  1.0   49.8x  2", "tiny-ru  3.3  1.0   49.8x  2", False),
        ('{"wer": 0.1, "speed": 5.1}', '{"wer": 0.1, "speed": 1e3}', True),
        ('{"wer": 0.1, "speed": 5.1}', '{"wer": 0.2, "speed": 5.1}', False),
        ("n:2|onnxruntime:1.32.0|workers:2", "n:2|onnxruntime:1.33.0|workers:8", True),
    ],
)
def test_only_what_varies_may_differ(shown: str, real: str, same: bool) -> None:
    assert is_shown([shown], [real]) is same
