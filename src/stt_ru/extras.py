"""What to type to have an optional feature: the one place that knows how an extra is installed."""

from __future__ import annotations

import re


def install_command(extra: str) -> str:
    """The command that installs the packages of an extra, to be pasted into a shell.

    It names the packages, as the installed stt-ru declares them: ``.[extra]`` means something only
    in the repository, and ``stt-ru`` in the index is another program.

    Example:
        >>> install_command("media").startswith('pip install "av>=')
        True
    """
    return " ".join(["pip install", *(f'"{package}"' for package in _packages(extra))])


def _packages(extra: str) -> list[str]:
    from importlib.metadata import PackageNotFoundError, requires

    try:
        declared = requires("stt-ru") or []
    except PackageNotFoundError:  # put on the path by hand, so the repository is at hand
        return [f".[{extra}]"]
    parts = [line.partition(";") for line in declared]
    wanted = re.compile(rf"""\s*extra\s*==\s*['"]{re.escape(extra)}['"]\s*""")
    return [package.strip() for package, _, marker in parts if wanted.fullmatch(marker)]
