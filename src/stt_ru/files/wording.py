"""How names, values and numbers are written in messages about a manifest."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST_VALUE: Final = 60  # characters
MOST_NAMES: Final = 5  # in one sentence

# C0 and C1 but for tab and line feed, and the marks that turn the direction of writing.
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def shown(value: str) -> str:
    r"""The value on one line: truncated if long, invisible characters escaped.

    Example:
        >>> shown("a\u00adb\n")
        'a\\xadb\\n'
    """
    cut = value if len(value) <= LONGEST_VALUE else value[: LONGEST_VALUE - 1] + "…"
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in cut
    )


def harmless(text: str) -> str:
    r"""The text with control characters escaped, line breaks and tabs kept: nothing moves a cursor.

    Names, texts and messages of other programs are printed so, and stand so in pages of text.

    Example:
        >>> harmless("да\x1b[2Jнет\n")
        'да\\x1b[2Jнет\n'
    """
    if _CONTROL.search(text) is None:
        return text
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def quoted(value: str) -> str:
    """The value as `shown`, in «…»."""
    return f"«{shown(value)}»"


def listed(names: Sequence[str]) -> str:
    """Up to five names, then the number of the others.

    Example:
        >>> listed(list("абвгдеж"))
        '«а», «б», «в», «г», «д» и ещё 2'
    """
    more = len(names) - MOST_NAMES
    named = ", ".join(quoted(name) for name in names[:MOST_NAMES])
    return f"{named} и ещё {more}" if more > 0 else named


def counted(number: int, one: str, few: str, many: str) -> str:
    """The number with its noun in the right form.

    Example:
        >>> [counted(n, "ошибка", "ошибки", "ошибок") for n in (1, 3, 11, 21)]
        ['1 ошибка', '3 ошибки', '11 ошибок', '21 ошибка']
    """
    if number % 100 not in range(11, 15):
        if number % 10 == 1:
            return f"{number} {one}"
        if number % 10 in (2, 3, 4):
            return f"{number} {few}"
    return f"{number} {many}"
