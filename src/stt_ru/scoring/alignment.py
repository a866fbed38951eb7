"""Which word was heard for which: the alignment behind the counts, for people to look at."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, cast

from rapidfuzz.distance import Levenshtein

if TYPE_CHECKING:
    from collections.abc import Sequence

Pair: TypeAlias = tuple[str | None, str | None]
"""Reference word and hypothesis word; None for the reference where one was inserted, for the
hypothesis where one was deleted."""


def align(reference: Sequence[str], hypothesis: Sequence[str]) -> list[Pair]:
    """Pairs of words in their order, by the script that `stt_ru.scoring.counts` counts.

    Example:
        >>> align("мама мыла раму".split(), "ой мама рану".split())
        [(None, 'ой'), ('мама', 'мама'), ('мыла', 'рану'), ('раму', None)]
    """
    operations = cast(  # the stubs say Opcode, and it is a tuple
        "list[tuple[str, int, int, int, int]]",
        Levenshtein.opcodes(reference, hypothesis).as_list(),
    )
    pairs: list[Pair] = []
    for tag, i, i_end, j, j_end in operations:
        if tag == "insert":
            pairs += [(None, word) for word in hypothesis[j:j_end]]
        elif tag == "delete":
            pairs += [(word, None) for word in reference[i:i_end]]
        else:
            pairs += zip(reference[i:i_end], hypothesis[j:j_end], strict=True)
    return pairs


def common_prefix(left: Sequence[str], right: Sequence[str]) -> int:
    """How many elements at the beginning are equal."""
    shorter = min(len(left), len(right))
    if left[:shorter] == right[:shorter]:  # the usual case, in C
        return shorter
    for position in range(shorter):
        if left[position] != right[position]:
            return position
    raise AssertionError("unequal sequences have an unequal element")
