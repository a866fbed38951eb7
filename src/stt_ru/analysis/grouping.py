"""Which rows depend on one another: those of one recording, or of one value of a column.

Light, so that the command line refuses a wrong column before any heavy library is loaded.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from stt_ru.errors import UsageError
from stt_ru.files.wording import listed

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from stt_ru.results import FileResult

RECORDING: Final = "audio"
"""The column that every manifest has: rows of one recording are one group."""


def check_group_by(column: str, extras: Iterable[Sequence[str]]) -> None:
    """Refuse a column that some rows do not have.

    Args:
        column: What the user named.
        extras: The names of every row's other columns.

    Raises:
        UsageError: Naming the columns there are.
    """
    if column == RECORDING:
        return
    for number, names in enumerate(extras, start=1):
        if column not in names:
            there = f"есть {listed(list(names))}" if names else "других колонок нет"
            raise UsageError(f"--group-by: в строке {number} нет колонки «{column}»; {there}")


def block_keys(rows: Sequence[FileResult], group_by: str | None) -> list[Hashable]:
    """What block each row belongs to.

    Raises:
        UsageError: If a row has no such column.
    """
    if group_by is None or group_by == RECORDING:
        return [row.audio for row in rows]
    check_group_by(group_by, ([*row.extra] for row in rows))
    return [json.dumps(row.extra[group_by], sort_keys=True) for row in rows]
