"""Numbers in figures and what else they may be called: «21-й», «1 000», «3,5», «10:30», «50 %».

Normalised words have lost the signs between them, so that a text is cut here into the same words
with the signs kept beside.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias

from stt_ru.text.normalize import normalize
from stt_ru.text.numerals import NUMERAL_STARTS, PARTS, numerals, whole_numerals

Meaning: TypeAlias = Hashable
"""Equal meanings are one number said or written differently."""


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a text with the signs around them.

    Attributes:
        words: As `stt_ru.text.normalize.normalize` gives them.
        gaps: What stood before word i, with its blanks; one more for the end. All are blanks when
            the signs cannot be told.
    """

    words: tuple[str, ...]
    gaps: tuple[str, ...]


_WORD = re.compile(r"[^\W_]+")

# Nearly every text is of these alone: composed, visible, without combining marks.
_PLAIN = re.compile(r"[\x20-\x7e\t\n\r\xa0«»–—…№А-яЁё]*")
_PLAIN_WORD = re.compile(r"([0-9a-zа-я]+)")
_LETTERS = re.compile(r"[a-zа-я]+")


def visible(text: str) -> str:
    """The text composed (NFC), without invisible characters, stress and other combining marks."""
    if _PLAIN.fullmatch(text):
        return text
    shown = "".join(sign for sign in text if unicodedata.category(sign) != "Cf")
    composed = unicodedata.normalize("NFC", shown)
    return "".join(sign for sign in composed if unicodedata.category(sign)[0] != "M")


def split_words(text: str, normalized: str | None = None) -> Words:
    """Cut a text into its normalised words and the signs between.

    Args:
        text: As written.
        normalized: The text after `stt_ru.normalize`, where that has been done.

    Example:
        >>> split_words("Скидка 3,5 %!").words
        ('скидка', '3', '5')
        >>> split_words("Скидка 3,5 %!").gaps
        ('', ' ', ',', ' %!')
    """
    if _PLAIN.fullmatch(text):
        pieces = _PLAIN_WORD.split(text.lower().replace("ё", "е"))
        return Words(tuple(pieces[1::2]), tuple(pieces[::2]))
    return _split_any(text, normalize(text) if normalized is None else normalized)


def _split_any(text: str, normalized: str) -> Words:
    words = tuple(normalized.split())
    clean = visible(text).lower().replace("ё", "е")
    found = list(_WORD.finditer(clean))
    if [match[0] for match in found] != list(words):  # rare signs of other scripts
        return Words(words, (" ",) * (len(words) + 1))
    ends = [0, *(match.end() for match in found)]
    starts = [*(match.start() for match in found), len(clean)]
    return Words(words, tuple(clean[a:b] for a, b in zip(ends, starts, strict=True)))


@dataclass(frozen=True, slots=True)
class Span:
    """Words from ``start`` to before ``end`` that say a number.

    Attributes:
        start: First word.
        end: After the last one.
        meaning: What it says.
        has_figures: Whether it is written with a figure.
    """

    start: int
    end: int
    meaning: Meaning
    has_figures: bool


_ENDING: Final = re.compile(
    "й|я|е|го|му|м|х|ми|ю|ой|ый|ий|ая|ое|ые|ого|ому|ым|им|ом|ую|ых|их|ыми|ти|та|и|ти|ти|ью|ей|ем"
)
_WITH_ENDING: Final = re.compile(rf"(\d+)({_ENDING.pattern})")
_BLANKS: Final = frozenset(" \u00a0\u202f\u2009")
_SIGNS: Final = {"%": "процент", "₽": "рубл", "$": "доллар", "€": "евро", "°": "градус"}
_BEFORE: Final = {
    "номер": re.compile(r"№\s?$"),
    "доллар": re.compile(r"\$\s?$"),
    "евро": re.compile(r"€\s?$"),
    "минус": re.compile(r"(?:^|\s)[-−–]$"),
}
_NAMED: Final = re.compile(
    r"(процент|рубл|доллар|градус)(?:а|у|ом|е|ы|ов|ам|ами|ах|ь|я|ю|ем|и|ей|ям|ями|ях)?|(евро)"
)
_HOURS: Final = re.compile(r"час(?:а|ов|у|ам|ами|ах|ы)?")
_MINUTES: Final = re.compile(r"минут(?:а|ы|у|е|ам|ами|ах)?")
_MONTHS: Final = {
    name: number
    for number, names in enumerate(
        (
            "января январь",
            "февраля февраль",
            "марта март",
            "апреля апрель",
            "мая май",
            "июня июнь",
            "июля июль",
            "августа август",
            "сентября сентябрь",
            "октября октябрь",
            "ноября ноябрь",
            "декабря декабрь",
        ),
        start=1,
    )
    for name in names.split()
}
_YEAR: Final = frozenset(("год", "года", "году", "годом"))
_BEFORE_NUMERALS: Final = frozenset(("номер", "номера", "номеру", "номером", "номере", "минус"))
_LONGEST_FIGURE: Final = 30  # digits
_WITHIN_A_NUMBER: Final = re.compile(r"[\s()+-]*")  # «8 (800) 555-35-35»


def figure_spans(text: Words) -> list[Span]:
    """Every way to read the figures of a text, each a span with one meaning."""
    return [span for span in _figures(text) if span.has_figures]


def _number(value: Fraction | int) -> Meaning:
    return ("number", Fraction(value))


def _figures(text: Words) -> Iterator[Span]:
    words, gaps = text.words, text.gaps
    for start, word in enumerate(words):
        if _LETTERS.fullmatch(word) and word != "номер":
            continue
        for end, value in _values_of_figures(words, gaps, start):
            yield Span(start, end, _number(value), True)
            for sign, name in _SIGNS.items():
                if sign in gaps[end]:
                    yield Span(start, end, (name, Fraction(value)), True)
            for name, sign_before in _BEFORE.items():
                if sign_before.search(gaps[start]):
                    yield Span(start, end, (name, Fraction(value)), True)
            if end < len(words) and (named := _NAMED.fullmatch(words[end])):
                yield Span(start, end + 1, (named[1] or named[2], Fraction(value)), True)
        if not _is_figure(word):
            if word == "номер" and start + 1 < len(words) and _is_figure(words[start + 1]):
                yield Span(start, start + 2, ("номер", Fraction(int(words[start + 1]))), True)
            continue
        digits, end = word, start + 1
        yield Span(start, end, ("digits", digits), True)
        while (
            end < len(words)
            and _is_figure(words[end])
            and _WITHIN_A_NUMBER.fullmatch(gaps[end])
            and len(digits) < _LONGEST_FIGURE
        ):
            digits += words[end]
            end += 1
            yield Span(start, end, ("digits", digits), True)
        yield from _times_and_dates(words, gaps, start)


def _is_figure(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) <= _LONGEST_FIGURE


def _values_of_figures(
    words: Sequence[str], gaps: Sequence[str], start: int
) -> Iterator[tuple[int, Fraction]]:
    word = words[start]
    if with_ending := _WITH_ENDING.fullmatch(word):
        yield start + 1, Fraction(int(with_ending[1]))
        return
    if not _is_figure(word):
        if len(word) <= _LONGEST_FIGURE and (value := _vulgar(word)) is not None:
            yield start + 1, value
        return
    value = Fraction(int(word))
    yield start + 1, value
    after = words[start + 1] if start + 1 < len(words) else ""
    gap = gaps[start + 1]
    if gap == "-" and _ENDING.fullmatch(after):
        yield start + 2, value
        return
    end, grouped = start + 1, word
    while len(word) <= 3 and end < len(words) and gaps[end] in _BLANKS:
        if not (_is_figure(words[end]) and len(words[end]) == 3):
            break
        grouped += words[end]
        end += 1
        yield end, Fraction(int(grouped))
        yield from _scales(words, end, Fraction(int(grouped)))
    if gap in (",", ".") and _is_figure(after):
        decimal = Fraction(f"{word}.{after}")
        yield start + 2, decimal
        yield from _scales(words, start + 2, decimal)
    if gap == "/" and _is_figure(after) and int(after):
        yield start + 2, Fraction(int(word), int(after))
    yield from (
        (end, Fraction(scaled)) for end, scaled in whole_numerals(words, start) if end > start + 1
    )


def _scales(words: Sequence[str], position: int, value: Fraction) -> Iterator[tuple[int, Fraction]]:
    part = PARTS.get(words[position]) if position < len(words) else None
    if part is not None and part.kind == "scale" and not part.is_ordinal:
        yield position + 1, value * part.value


def _vulgar(word: str) -> Fraction | None:
    """«½», «3½»."""
    whole, sign = word[:-1], word[-1]
    numeric = unicodedata.numeric(sign, None)
    if numeric is None or sign.isdigit() or (whole and not _is_figure(whole)):
        return None
    return int(whole or 0) + Fraction(numeric).limit_denominator(1000)


def _times_and_dates(words: Sequence[str], gaps: Sequence[str], start: int) -> Iterator[Span]:
    """«10:30» and «21.05.2013» as rows of numbers; also «21 мая 2013»."""
    numbers = [int(words[start])]
    for end in range(start + 1, min(start + 3, len(words))):
        gap = gaps[end]
        if _is_figure(words[end]) and gap in (":", ".") and len(words[start]) <= 2:
            numbers.append(int(words[end]))
            yield Span(start, end + 1, ("row", tuple(numbers)), True)
        else:
            break
    yield from (
        Span(start, end, meaning, True) for end, meaning in _spoken_row(words, start, figures=True)
    )


def word_spans(text: Words) -> list[Span]:
    """Every numeral of a text that is spelt in words, each a span with one meaning."""
    words = text.words
    spans = []
    for start, word in enumerate(words):
        if word not in NUMERAL_STARTS and word not in _BEFORE_NUMERALS:
            continue
        for end, value in numerals(words, start):
            if any(_is_figure(part) for part in words[start:end]):
                continue
            spans.append(Span(start, end, _number(value), False))
            if end < len(words) and (named := _NAMED.fullmatch(words[end])):
                spans.append(Span(start, end + 1, (named[1] or named[2], value), False))
        if word in _BEFORE_NUMERALS:
            name = "минус" if word == "минус" else "номер"
            spans += [
                Span(start, end, (name, value), False) for end, value in numerals(words, start + 1)
            ]
        spans += [
            Span(start, end, meaning, False)
            for end, meaning in _spoken_row(words, start, figures=False)
        ]
    return spans


def _spoken_row(
    words: Sequence[str], start: int, *, figures: bool
) -> Iterator[tuple[int, Meaning]]:
    """Spoken times and dates: sequences of their numbers.

    «десять тридцать», «десять часов тридцать минут», «десять ноль ноль», «десять часов», «двадцать
    первое мая», «двадцать первого мая две тысячи тринадцатого года».
    """
    for end, hours in _numbers_at(words, start, figures=figures):
        if end < len(words) and _HOURS.fullmatch(words[end]):
            if hours < 25:
                yield end + 1, ("row", (hours, 0))
            for last, minutes in _numbers_at(words, end + 1, figures=figures):
                if minutes < 60:
                    if last < len(words) and _MINUTES.fullmatch(words[last]):
                        last += 1
                    yield last, ("row", (hours, minutes))
        elif end < len(words) and (month := _MONTHS.get(words[end])) is not None:
            yield end + 1, ("row", (hours, month))
            for last, year in _numbers_at(words, end + 1, figures=figures):
                yield last, ("row", (hours, month, year))
                if last < len(words) and words[last] in _YEAR:
                    yield last + 1, ("row", (hours, month, year))
        elif hours < 25:
            for middle, minutes in _numbers_at(words, end, figures=figures):
                if 10 <= minutes < 60:
                    yield middle, ("row", (hours, minutes))
                elif minutes == 0:
                    for last, units in _numbers_at(words, middle, figures=figures):
                        if units < 10:
                            yield last, ("row", (hours, units))


def _numbers_at(words: Sequence[str], start: int, *, figures: bool) -> list[tuple[int, int]]:
    if figures:
        is_there = start < len(words) and _is_figure(words[start])
        return [(start + 1, int(words[start]))] if is_there else []
    return [
        (end, value)
        for end, value in whole_numerals(words, start)
        if not any(_is_figure(word) for word in words[start:end])
    ]


def spelt_digits(text: Words, digits: str) -> Iterator[tuple[int, int]]:
    """Where words spell a figure part by part: «пятьдесят пять девяносто четыре» is 5594.

    Args:
        text: Where to look.
        digits: The figure; leading zeros count.

    Yields:
        Start and end of the words.
    """
    words = text.words

    def rest(position: int, left: str) -> Iterator[int]:
        for end, value in _numbers_at(words, position, figures=False):
            said = str(value)
            if left == said:
                yield end
            elif left.startswith(said):
                yield from rest(end, left[len(said) :])

    for start, word in enumerate(words):
        if word in PARTS:
            yield from ((start, end) for end in rest(start, digits))
