"""What to type to get an optional feature: the only place that knows how to install an extra."""

from __future__ import annotations

import re


def install_command(extra: str) -> str:
    """The shell command that installs the packages of an extra.

    It names the packages as the installed stt-ru declares them: ``.[extra]`` works only in the
    repository, and ``stt-ru`` on the package index is a different program.

    Example:
        >>> install_command("media").startswith('pip install "av>=')
        True
    """
    return " ".join(["pip install", *(f'"{package}"' for package in _packages(extra))])


def _packages(extra: str) -> list[str]:
    from importlib.metadata import PackageNotFoundError, requires

    try:
        declared = requires("stt-ru") or []
    except PackageNotFoundError:  # on the path but not installed: this is the repository
        return [f".[{extra}]"]
    parts = [line.partition(";") for line in declared]
    wanted = re.compile(rf"""\s*extra\s*==\s*['"]{re.escape(extra)}['"]\s*""")
    return [package.strip() for package, _, marker in parts if wanted.fullmatch(marker)]
