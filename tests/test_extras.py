"""What is said of a package that is not there: a command that anybody can paste."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import tomllib
from collections.abc import Sequence

import pytest
from packaging.requirements import Requirement

from stt_ru.errors import MissingExtraError
from stt_ru.extras import install_command
from tests.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
SAID = sorted(extra for extra, packages in EXTRAS.items() if packages)
"""Extras that bring packages; ``eval`` brings none, and nothing asks for it."""


def packages_of(extra: str) -> set[Requirement]:
    """The packages of an extra, and of the extras that it names itself."""
    found: set[Requirement] = set()
    for requirement in map(Requirement, EXTRAS[extra]):
        if requirement.name == PROJECT["name"]:
            found |= set().union(*map(packages_of, requirement.extras))
        else:
            found.add(requirement)
    return found


def as_comparable(packages: Sequence[Requirement] | set[Requirement]) -> set[tuple[str, str]]:
    return {(package.name.lower(), str(package.specifier)) for package in packages}


def words_in_a_shell(command: str) -> list[str]:
    shell = ["bash", "-c", f'pip() {{ printf "%s\\n" "$@"; }}; {command}']
    done = subprocess.run(shell, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.mark.parametrize("extra", SAID)
def test_the_command_names_the_packages_of_the_extra(extra: str) -> None:
    install, *packages = words_in_a_shell(install_command(extra))
    assert install == "install"
    assert as_comparable([*map(Requirement, packages)]) == as_comparable(packages_of(extra))


def test_an_error_says_the_command() -> None:
    said = str(MissingExtraError("отчёт .xlsx", "xlsx"))
    assert said == (
        f"отчёт .xlsx: нужен необязательный пакет, установите: {install_command('xlsx')}"
    )


def test_beside_the_sources_of_a_program_that_is_not_installed_the_folder_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def requires(name: str) -> list[str]:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "requires", requires)
    assert install_command("media") == 'pip install ".[media]"'


def test_no_module_or_page_says_an_extra_of_the_folder() -> None:
    """The way in from the repository is README's, the way in from anywhere is `install_command`."""
    allowed = {"README.md", "README.ru.md", "extras.py"}
    files = [*(ROOT / "src").rglob("*.py"), *ROOT.glob("README*.md"), *(ROOT / "docs").glob("*.md")]
    assert not [
        file.relative_to(ROOT).as_posix()
        for file in files
        if file.name not in allowed
        and re.search(r"(\.|stt-ru)\[\{?[\w,]+\}?\]", file.read_text(encoding="utf-8"))
    ]
