"""Scoring against jiwer: many short pairs, and one pair of long texts; words and characters.

Both sides get the same texts, already normalised, and their counts are compared. jiwer is called
once for all pairs of a side, as its users do.
"""

from __future__ import annotations

import random
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING

import jiwer
from measuring import emit, interleaved, parser, ratios, seconds, summary

from stt_ru.scoring.counts import score_texts, total_score
from stt_ru.text.normalize import normalize

if TYPE_CHECKING:
    from collections.abc import Callable

_LETTERS = "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэф"
_Totals = tuple[int, int, int, int, int]


def texts(n: int, words: int, seed: int) -> tuple[list[str], list[str]]:
    """References and hypotheses in which one word of eight is wrong in some way."""
    random_ = random.Random(seed)
    weights = range(len(_LETTERS), 0, -1)
    lexicon = [
        "".join(random_.choices(_LETTERS, weights, k=random_.randint(1, 12))) for _ in range(5_000)
    ]
    references, hypotheses = [], []
    for _ in range(n):
        reference = random_.choices(lexicon, k=words)
        hypothesis: list[str] = []
        for word in reference:
            luck = random_.random()
            if luck < 0.05:
                hypothesis.append(random_.choice(lexicon))
            elif luck < 0.08:
                hypothesis.append(word[:-1] + random_.choice(_LETTERS))
            elif luck < 0.10:
                hypothesis += [word, random_.choice(lexicon)]
            elif luck > 0.02 + 0.10:
                hypothesis.append(word)
        references.append(" ".join(reference))
        hypotheses.append(" ".join(hypothesis) or "шум")
    return references, hypotheses


def ours(references: list[str], hypotheses: list[str]) -> _Totals:
    """Word substitutions, deletions, insertions, reference words, character errors."""
    total = total_score(map(score_texts, references, hypotheses))
    words = total.words
    counts = (words.substitutions, words.deletions, words.insertions, words.length)
    return (*counts, total.chars.errors)


def jiwers(references: list[str], hypotheses: list[str]) -> _Totals:
    """The same from jiwer."""
    words = jiwer.process_words(references, hypotheses)
    chars = jiwer.process_characters(references, hypotheses)
    return (
        words.substitutions,
        words.deletions,
        words.insertions,
        words.hits + words.substitutions + words.deletions,
        chars.substitutions + chars.deletions + chars.insertions,
    )


def normalize_all(references: list[str]) -> None:
    """What each text costs before it can be scored."""
    for reference in references:
        normalize(reference)


def main() -> None:
    options = parser(__doc__, repeats=3)
    options.add_argument("--pairs", type=int, default=100_000, help="short pairs (100000)")
    options.add_argument("--pair-words", type=int, default=10, help="words of a short pair (10)")
    options.add_argument("--long-words", type=int, default=20_000, help="words of the long pair")
    options.add_argument("--seed", type=int, default=1)
    arguments = options.parse_args()
    cases = {
        "short pairs": (arguments.pairs, arguments.pair_words),
        "long pair": (1, arguments.long_words),
    }
    for case, (pairs, words) in cases.items():
        references, hypotheses = texts(pairs, words, arguments.seed)
        counts = ours(references, hypotheses)
        sides: dict[str, Callable[[], object]] = {
            "ours": partial(ours, references, hypotheses),
            "jiwer": partial(jiwers, references, hypotheses),
            "normalize": partial(normalize_all, references),
        }
        measured = interleaved(
            {side: partial(seconds, action) for side, action in sides.items()}, arguments.repeats
        )
        emit(
            arguments.output,
            "scoring",
            case=case,
            pairs=pairs,
            words=words,
            seed=arguments.seed,
            counts_equal=counts == jiwers(references, hypotheses),
            counts=counts,
            jiwer=version("jiwer"),
            times_faster=ratios(measured["jiwer"], measured["ours"]),
            **{f"{side}_s": summary(values) for side, values in measured.items()},
        )


if __name__ == "__main__":
    main()
