"""Which rows depend on one another: those that share a recording, or a value of a column.

Kept light so that the command line rejects a wrong column before any heavy library is loaded.
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
"""The column that every manifest has: the rows of one recording form one group."""


def check_group_by(column: str, extras: Iterable[Sequence[str]]) -> None:
    """Reject a column that is missing from some rows.

    Args:
        column: The column named by the user.
        extras: For each row, the names of its other columns.

    Raises:
        UsageError: If the column is missing; the message lists the available ones.
    """
    if column == RECORDING:
        return
    for number, names in enumerate(extras, start=1):
        if column not in names:
            there = f"есть {listed(list(names))}" if names else "других колонок нет"
            raise UsageError(f"--group-by: в строке {number} нет колонки «{column}»; {there}")


def block_keys(rows: Sequence[FileResult], group_by: str | None) -> list[Hashable]:
    """The key of the block that each row belongs to.

    Raises:
        UsageError: If a row lacks the column.
    """
    if group_by is None or group_by == RECORDING:
        return [row.audio for row in rows]
    check_group_by(group_by, ([*row.extra] for row in rows))
    return [json.dumps(row.extra[group_by], sort_keys=True) for row in rows]
