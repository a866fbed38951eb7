r"""References that admit what was said: «{тысяча|1000} рублей», optional «{ну}», anything «<*>».

Owns the marks: how a text with them is read, and what it may become. A choice is put into the text
as it stands, before the text is normalised: «пришл{а|и}» is «пришла» or «пришли». «\{» is a brace.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice, product
from math import prod
from typing import TYPE_CHECKING, Final

from stt_ru.text.normalize import normalize

if TYPE_CHECKING:
    from collections.abc import Iterable

VARIANTS: Final = "1"
"""Version of the marks; part of the signature of every report whose references were read so."""

ANYTHING: Final = "<*>"
"""Stands for any words, also for none; no normalised word is equal to it."""

MOST_ALTERNATIVES: Final = 1_000
"""What one place without blanks around may become; more is a mistake or a machine's work."""

DEEPEST: Final = 20  # braces within braces

_LONGEST_SHOWN = 40  # characters of the text in a message
_ESCAPED = frozenset("\\{}|<")
_ANYTHING = re.compile(r"\\.|(<\*>)", re.DOTALL)
_MARK = re.compile(r"\{[^{}]*\}|<\*>")
_SCLITE = re.compile(r"\s/\s|^\s*@\s*$")


class VariantsError(ValueError):
    """Marks that cannot be read; the text is a Russian sentence without the place."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """One of the texts that may stand in a place.

    Attributes:
        text: As written, with blanks collapsed; «<*>» and escapes are kept.
        words: Normalised words, and `ANYTHING` where it stands.
    """

    text: str
    words: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Alternative:
        """The alternative that is written as ``text``: no choice stands in it."""
        first, *others = split_at_anything(text)
        words = normalize(first).split()
        for stretch in others:
            words += [ANYTHING, *normalize(stretch).split()]
        return cls(" ".join(text.split()), tuple(words))


@dataclass(frozen=True, slots=True)
class Marked:
    """A reference with marks: places in their order, in each one of its alternatives.

    Attributes:
        places: Alternatives of each place in the order they are written, with different words.
    """

    places: tuple[tuple[Alternative, ...], ...]

    @property
    def text(self) -> str:
        """The reference normalised, marks included: equal for what means the same.

        Example:
            >>> read_reference("{Тысяча|1000}  рублей, <*>").text
            '{тысяча|1000} рублей <*>'
        """
        parts = []
        for place in self.places:
            texts = [" ".join(one.words) for one in place]
            parts.append(texts[0] if len(texts) == 1 else f"{{{'|'.join(texts)}}}")
        return " ".join(part for part in parts if part)

    @property
    def is_empty(self) -> bool:
        """Whether no branch has a word or «<*>»."""
        return not any(one.words for place in self.places for one in place)

    @property
    def branches(self) -> int:
        """How many texts it may become."""
        return prod(len(place) for place in self.places)

    def texts(self, most: int) -> list[str]:
        """The first ``most`` branches as written, in the order of what is written first."""
        chosen = islice(product(*self.places), most)
        return [branch_text(branch) for branch in chosen]


def split_at_anything(text: str) -> list[str]:
    """What stands between «<*>» and «<*>» in a text without choices, and before and after them."""
    stretches = []
    start = 0
    for match in _ANYTHING.finditer(text):
        if match[1]:
            stretches.append(text[start : match.start()])
            start = match.end()
    return [*stretches, text[start:]]


def branch_text(branch: Iterable[Alternative]) -> str:
    """A branch as written."""
    return " ".join(one.text for one in branch if one.text)


def read_reference(text: str) -> str | Marked:
    r"""The reference as it is compared: normalised, or its places when something is marked.

    Raises:
        VariantsError: If the marks cannot be read.

    Example:
        >>> read_reference("Тысяча рублей.")
        'тысяча рублей'
        >>> [[one.words for one in place] for place in read_reference("{ну} да").places]
        [[('ну',), ()], [('да',)]]
    """
    if may_be_marked(text):
        reader = _Reader(text)
        places = reader.places()
        if reader.has_choice or any(ANYTHING in one.words for place in places for one in place):
            return Marked(places)
    return normalize(text)


def may_be_marked(text: str) -> bool:
    """Whether it has a sign that marks are made of; `read_reference` only normalises others."""
    return "{" in text or "}" in text or ANYTHING in text


def read_references(texts: Iterable[tuple[str, str]], *, variants: bool) -> list[str | Marked]:
    """References as they are compared, each read once.

    Args:
        texts: What to call each in messages, and the text as written.
        variants: Whether marks are read in them.

    Raises:
        VariantsError: If the marks of one cannot be read; says which.
    """
    if not variants:
        return [normalize(text) for _, text in texts]
    references = []
    for name, text in texts:
        try:
            references.append(read_reference(text))
        except VariantsError as error:
            raise VariantsError(f"{name}: {error}") from error
    return references


def has_anything(text: str) -> bool:
    """Whether «<*>» stands in a branch's text."""
    return ANYTHING in text and ANYTHING in Alternative.of(text).words


def looks_marked(text: str) -> bool:
    """Whether a text has what `read_reference` would read as marks."""
    return _MARK.search(text) is not None


class _Reader:
    """Reads one text from its beginning to its end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._next = 0
        self.has_choice = False

    def places(self) -> tuple[tuple[Alternative, ...], ...]:
        places: list[tuple[Alternative, ...]] = []
        plain: list[str] = []  # pieces between blanks without a choice, of the place being read
        while self._next < len(self._text):
            if self._text[self._next].isspace():
                self._next += 1
                continue
            texts = self._piece()
            alternatives: dict[tuple[str, ...], Alternative] = {}
            for one in map(Alternative.of, texts):
                alternatives.setdefault(one.words, one)
            if len(alternatives) == 1:
                plain.append(texts[0])
                continue
            if plain:
                places.append((Alternative.of(" ".join(plain)),))
                plain.clear()
            places.append(tuple(alternatives.values()))
        if plain:
            places.append((Alternative.of(" ".join(plain)),))
        return tuple(places)

    def _piece(self) -> list[str]:
        """All that the text up to the next blank outside braces may become."""
        start = self._next
        texts = self._sequence(start, depth=0)
        if self._next < len(self._text) and self._text[self._next] == "}":
            raise VariantsError(
                f"лишняя «}}» после «{self._shown(max(0, self._next - 20), self._next)}»: уберите "
                r"её или, если это знак текста, напишите \}"
            )
        return texts

    def _sequence(self, start: int, *, depth: int) -> list[str]:
        """Everything up to a blank (outside braces), or to «|» or «}» (inside)."""
        texts = [""]
        run = self._next  # where the text not yet put into ``texts`` begins
        while self._next < len(self._text):
            sign = self._text[self._next]
            if sign == "\\" and self._text[self._next + 1 : self._next + 2] in _ESCAPED:
                self._next += 2
            elif sign == "{":
                before = self._text[run : self._next]
                choice = self._choice(depth + 1)
                if len(texts) * len(choice) > MOST_ALTERNATIVES:
                    raise VariantsError(
                        f"больше {MOST_ALTERNATIVES} сочетаний вариантов в одном месте "
                        f"«{self._shown(start)}»: разделите варианты пробелами или сократите их"
                    )
                texts = [f"{text}{before}{one}" for text in texts for one in choice]
                run = self._next
            elif sign == "}" or (sign == "|" if depth else sign.isspace()):
                break
            else:
                self._next += 1
        rest = self._text[run : self._next]
        return [text + rest for text in texts]

    def _choice(self, depth: int) -> list[str]:
        start = self._next
        self.has_choice = True
        if depth > DEEPEST:
            raise VariantsError(f"скобки вложены глубже {DEEPEST}: «{self._shown(start)}»")
        found: list[str] = []
        n_written = 0
        while True:
            self._next += 1  # «{» or «|»
            found += self._sequence(start, depth=depth)
            n_written += 1
            if self._next == len(self._text):
                raise VariantsError(
                    f"скобка открыта и не закрыта: «{self._shown(start)}»; закройте её или, если "
                    r"это знак текста, напишите \{"
                )
            if self._text[self._next] == "}":
                break
        self._next += 1
        if not any(Alternative.of(one).words for one in found):
            raise VariantsError(
                f"в «{self._shown(start, self._next)}» нет ни одного слова: впишите варианты "
                "через «|», например {тысяча|1000}"
            )
        if n_written == 1:
            if any(map(_SCLITE.search, found)):
                raise VariantsError(
                    f"«{self._shown(start, self._next)}»: варианты разделяет «|», а не «/»: "
                    "{тысяча|1000}, необязательное слово: {ну}"
                )
            found.append("")
        if len(found) > MOST_ALTERNATIVES:
            raise VariantsError(
                f"больше {MOST_ALTERNATIVES} вариантов в «{self._shown(start)}»: сократите их"
            )
        return found

    def _shown(self, start: int, end: int | None = None) -> str:
        written = " ".join(self._text[start:end].split())
        return written if len(written) <= _LONGEST_SHOWN else written[: _LONGEST_SHOWN - 1] + "…"
