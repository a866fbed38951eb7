"""The house: imports only point down, and docs/architecture.md says what stands."""

from __future__ import annotations

import ast
import re
from functools import cache
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING

import pytest

from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

SRC = ROOT / "src"
PAGE = ROOT / "docs" / "architecture.md"

FACES = {"normalize", *(f"streaming.{name}" for name in (
    "buffer", "caller", "evaluation", "model", "plots", "remap", "sender", "timings", "wrappers",
))}  # fmt: skip
"""Modules that only re-export what users import by that path; nothing of ours imports them."""


_TABLE = re.compile(r"(?<=<!-- imports -->\n```text\n)(.*?)(?=```)", re.DOTALL)


@cache
def modules() -> dict[str, ast.Module]:
    """Every module of the package by its name, «stt_ru.» left out."""
    found = {}
    for path in sorted((SRC / "stt_ru").rglob("*.py")):
        parts = path.relative_to(SRC / "stt_ru").with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = ast.parse(path.read_text(encoding="utf-8"))
    return found


def imported_by(name: str) -> Iterator[str]:
    """Modules of ours that a module imports, anywhere in it, for type checking too."""
    for node in ast.walk(modules()[name]):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            package, _, rest = node.module.partition(".")
            if package == "stt_ru":
                for alias in node.names:
                    deeper = f"{rest}.{alias.name}".lstrip(".")
                    yield deeper if deeper in modules() else rest
        elif isinstance(node, ast.Import):
            for alias in node.names:
                package, _, rest = alias.name.partition(".")
                if package == "stt_ru" and rest:
                    yield rest


def rooms(depth: int) -> dict[str, set[str]]:
    """The first ``depth`` parts of every module's name, and what they import of one another."""

    def room(name: str) -> str:
        return ".".join(name.split(".")[:depth])

    found: dict[str, set[str]] = {}
    for name in modules():
        if name and name not in FACES:
            others = {room(other) for other in imported_by(name) if other}
            found.setdefault(room(name), set()).update(others - {room(name)})
    return found


def test_packages_form_no_circle() -> None:
    order = list(TopologicalSorter(rooms(1)).static_order())  # CycleError names the circle
    assert order[0] == "errors" or not rooms(1)[order[0]]


@pytest.mark.parametrize("package", ["streaming", "simultaneous", "report", "analysis"])
def test_what_stands_in_a_package_forms_no_circle(package: str) -> None:
    inside = {
        name: {other for other in others if other.startswith(f"{package}.")}
        for name, others in rooms(2).items()
        if name.startswith(f"{package}.")
    }
    TopologicalSorter(inside).prepare()


def test_modules_form_no_circle() -> None:
    graph = {name: set(imported_by(name)) - {name, ""} for name in modules() if name}
    # A package's own door may name what stands in it, and is imported with it.
    for name, others in graph.items():
        graph[name] = {other for other in others if not name.startswith(f"{other}.")}
    TopologicalSorter(graph).prepare()


def test_nothing_of_ours_imports_a_face() -> None:
    found = {
        (name, other)
        for name in modules()
        if name not in {*FACES, "streaming"}
        for other in imported_by(name)
        if other in FACES
    }
    assert found == set()


def test_the_page_draws_the_imports_as_they_are(request: pytest.FixtureRequest) -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, table, after = _TABLE.split(text, maxsplit=1)
    found = drawn(rooms(1))
    if request.config.getoption("--update-golden"):
        PAGE.write_text(before + found + after, encoding="utf-8")
    else:
        assert table == found, "run pytest --update-golden and read the difference"


def drawn(graph: dict[str, set[str]]) -> str:
    """One line per room, what it imports after the colon; each line only names lines above it."""
    floors: list[list[str]] = []
    sorter = TopologicalSorter(graph)
    sorter.prepare()
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        floors.append(ready)
        sorter.done(*ready)
    width = max(map(len, graph))
    lines = []
    for number, floor in enumerate(floors):
        for room in floor:
            lines.append(f"{number}  {room:<{width}}  {' '.join(sorted(graph[room]))}".rstrip())
    return "".join(f"{line}\n" for line in lines)
