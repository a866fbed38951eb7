"""Russian numerals in any inflection, read as values: «две тысячи тринадцатого» is 2013.

Words are those of `text.normalize` («ё» as «е»). Cardinals, ordinals and collectives of one value
are not told apart: a figure is read as any of them («15-й», «15», «15 человек»).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LONGEST_NUMERAL: Final = 15  # words: «девятьсот девяносто девять миллионов …»


@dataclass(frozen=True, slots=True)
class Part:
    """What one word adds to a numeral.

    Attributes:
        value: Its value.
        kind: Which places it fills: «сто» the hundreds, «двадцать» the tens, «пять» the units,
            «пятнадцать» tens and units, «тысяча» is a scale, «двухтысячный» stands for all before
            it, «ноль» stands alone.
        is_ordinal: Whether nothing can follow, as after «первый».
    """

    value: int
    kind: Literal["hundreds", "tens", "teen", "units", "scale", "whole", "zero"]
    is_ordinal: bool = False


def _kind(value: int) -> Literal["hundreds", "tens", "teen", "units", "zero"]:
    if value == 0:
        return "zero"
    if value >= 100:
        return "hundreds"
    if value >= 20:
        return "tens"
    return "teen" if value >= 10 else "units"


_FORMS: Final = {  # cardinals and collectives
    0: "ноль нуль ноля нуля нолю нулю нолем нулем ноле нуле ноли нули нолей нулей",
    1: "один одна одно одни одного одной одною одну одному одним одними одних одном",
    2: "два две двух двум двумя двое двоих двоим двоими",
    3: "три трех трем тремя трое троих троим троими",
    4: "четыре четырех четырем четырьмя четверо четверых четверым четверыми",
    5: "пять пяти пятью пятеро пятерых",
    6: "шесть шести шестью шестеро шестерых",
    7: "семь семи семью семеро семерых",
    8: "восемь восьми восемью восьмью",
    9: "девять девяти девятью",
    10: "десять десяти десятью",
    40: "сорок сорока",
    50: "пятьдесят пятидесяти пятьюдесятью",
    60: "шестьдесят шестидесяти шестьюдесятью",
    70: "семьдесят семидесяти семьюдесятью",
    80: "восемьдесят восьмидесяти восемьюдесятью восьмьюдесятью",
    90: "девяносто девяноста",
    100: "сто ста",
    200: "двести двухсот двумстам двумястами двухстах",
    300: "триста трехсот тремстам тремястами трехстах",
    400: "четыреста четырехсот четыремстам четырьмястами четырехстах",
    500: "пятьсот пятисот пятистам пятьюстами пятистах",
    600: "шестьсот шестисот шестистам шестьюстами шестистах",
    700: "семьсот семисот семистам семьюстами семистах",
    800: "восемьсот восьмисот восьмистам восемьюстами восьмьюстами восьмистах",
    900: "девятьсот девятисот девятистам девятьюстами девятистах",
}
_ON_TWELVE: Final = {  # numerals that bend like «двенадцать»
    11: "одиннадцат", 12: "двенадцат", 13: "тринадцат", 14: "четырнадцат", 15: "пятнадцат",
    16: "шестнадцат", 17: "семнадцат", 18: "восемнадцат", 19: "девятнадцат", 20: "двадцат",
    30: "тридцат",
}  # fmt: skip
_ORDINAL_STEMS: Final = {
    0: "нулев", 1: "перв", 2: "втор", 4: "четверт", 5: "пят", 6: "шест", 7: "седьм", 8: "восьм",
    9: "девят", 10: "десят", **_ON_TWELVE, 40: "сороков", 50: "пятидесят", 60: "шестидесят",
    70: "семидесят", 80: "восьмидесят", 90: "девяност", 100: "сот", 200: "двухсот",
    300: "трехсот", 400: "четырехсот", 500: "пятисот", 600: "шестисот", 700: "семисот",
    800: "восьмисот", 900: "девятисот",
}  # fmt: skip
_ENDINGS: Final = ["ый", "ой", "ая", "ое", "ые", "ого", "ому", "ым", "ом", "ую", "ою", "ых", "ыми"]
_THIRD: Final = (
    "третий третья третье третьего третьей третьему третьим третьем третью третьи третьих третьими"
)
_SCALE_STEMS: Final = {10**6: "миллион", 10**9: "миллиард", 10**12: "триллион"}
_SCALE_FORMS: Final = {
    1000: "тысяча тысячи тысяче тысячу тысячей тысячью тысяч тысячам тысячами тысячах тыс",
    10**6: "млн",
    10**9: "млрд",
    10**12: "трлн",
}
_COMPOSED: Final = {  # «двухтысячный», «пятисотмиллионный» is too rare
    2: "двух", 3: "трех", 4: "четырех", 5: "пяти", 6: "шести", 7: "семи", 8: "восьми",
    9: "девяти", 10: "десяти", 100: "сто",
}  # fmt: skip


def _all_parts() -> dict[str, Part]:
    parts: dict[str, Part] = {}
    for value, forms in _FORMS.items():
        parts.update((form, Part(value, _kind(value))) for form in forms.split())
    for value, stem in _ON_TWELVE.items():
        parts.update((stem + ending, Part(value, _kind(value))) for ending in ("ь", "и", "ью"))
    for value, stem in _ORDINAL_STEMS.items():
        for ending in _ENDINGS:
            parts[stem + ending] = Part(value, _kind(value), is_ordinal=True)
    parts.update((form, Part(3, "units", is_ordinal=True)) for form in _THIRD.split())
    for value, forms in _SCALE_FORMS.items():
        parts.update((form, Part(value, "scale")) for form in forms.split())
    for value, stem in _SCALE_STEMS.items():
        for ending in ("", "а", "у", "ом", "е", "ы", "ов", "ам", "ами", "ах"):
            parts[stem + ending] = Part(value, "scale")
    for value, stem in {1000: "тысячн", **{v: f"{s}н" for v, s in _SCALE_STEMS.items()}}.items():
        for ending in _ENDINGS:
            parts[stem + ending] = Part(value, "scale", is_ordinal=True)
            for times, prefix in _COMPOSED.items():
                parts[prefix + stem + ending] = Part(times * value, "whole", is_ordinal=True)
    return parts


PARTS: Final = _all_parts()
"""Every form of every word that a whole number is made of."""

_PLACES: Final = {"hundreds": (3, 3), "tens": (2, 2), "teen": (2, 1), "units": (1, 1)}
"""For a kind, the highest place it fills and the lowest: it follows only higher places."""

_HALF: Final = Fraction(1, 2)
_ALONE: Final = {
    **dict.fromkeys(("полтора", "полторы", "полутора"), Fraction(3, 2)),
    **dict.fromkeys(("половина", "половины", "половину", "половиной", "половине"), _HALF),
    **dict.fromkeys(("треть", "трети", "третью"), Fraction(1, 3)),
    **dict.fromkeys(("четверть", "четверти", "четвертью"), Fraction(1, 4)),
    "полтораста": Fraction(150),
}
NUMERAL_STARTS: Final = frozenset(PARTS) | frozenset(_ALONE)
"""Words that a numeral spelt in words can begin with."""

_POINT: Final = frozenset(["целая", "целой", "целых", "целые", "целую", "целым", "целыми"])
_FRACTION_STEMS: Final = {10: "десят", 100: "сот", 1000: "тысячн"}
_DENOMINATORS: Final = {
    stem + ending: base
    for base, stem in _FRACTION_STEMS.items()
    for ending in ("ая", "ой", "ую", "ых", "ые", "ым", "ыми")
}


def whole_numerals(words: Sequence[str], start: int) -> Iterator[tuple[int, int]]:
    """Whole numbers that begin at a word, as (end, value); the shorter ones first.

    A figure may stand before a scale («5 тысяч»); a figure alone is no numeral.

    Example:
        >>> list(whole_numerals("две тысячи тринадцатого года".split(), 0))
        [(1, 2), (2, 2000), (3, 2013)]
    """
    total = group = 0
    place = 4  # of the last part within the group of three digits
    scale: float = float("inf")  # of the last scale
    for end in range(start, min(start + LONGEST_NUMERAL, len(words))):
        word = words[end]
        part = PARTS.get(word)
        if part is None:
            if end == start and word.isascii() and word.isdigit() and len(word) <= LONGEST_NUMERAL:
                group, place = int(word), 0
                continue
            return
        if part.kind == "scale":
            if part.value >= scale or (place == 4 and total):  # «тысяча миллионов» are two
                return
            total += max(group, 1) * part.value if place < 4 else part.value
            group, place, scale = 0, 4, part.value
        elif part.kind in ("whole", "zero"):
            if end > start:
                return
            yield end + 1, part.value
            return
        else:
            highest, lowest = _PLACES[part.kind]
            if highest >= place:
                return
            group += part.value
            place = lowest
        yield end + 1, total + group
        if part.is_ordinal:
            return


def numerals(words: Sequence[str], start: int) -> Iterator[tuple[int, Fraction]]:
    """Numbers that begin at a word, fractions too, as (end, value).

    Example:
        >>> [(end, str(value)) for end, value in numerals("три с половиной".split(), 0)]
        [(1, '3'), (3, '7/2')]
        >>> [str(value) for _, value in numerals("ноль целых две сотых".split(), 0)]
        ['0', '1/50']
    """
    if start < len(words) and (alone := _ALONE.get(words[start])) is not None:
        yield start + 1, alone
        for end, scaled in _scaled(words, start + 1, alone):
            yield end, scaled
    for end, value in whole_numerals(words, start):
        yield end, Fraction(value)
        rest = words[end : end + 2]
        if len(rest) == 2 and rest[0] == "с" and rest[1] in ("половиной", "четвертью"):
            mixed = value + _ALONE[rest[1]]
            yield end + 2, mixed
            yield from _scaled(words, end + 2, mixed)
        if end < len(words) and (base := _DENOMINATORS.get(words[end])) is not None:
            yield end + 1, Fraction(value, base)
        after = end
        if after < len(words) and words[after] in _POINT:
            after += 1
        if after < len(words) and words[after] == "и":
            after += 1
        if after == end:
            continue
        for numerator_end, numerator in whole_numerals(words, after):
            if numerator_end < len(words):
                base = _DENOMINATORS.get(words[numerator_end])
                if base is not None and numerator < base:
                    mixed = value + Fraction(numerator, base)
                    yield numerator_end + 1, mixed
                    yield from _scaled(words, numerator_end + 1, mixed)


def _scaled(words: Sequence[str], position: int, value: Fraction) -> Iterator[tuple[int, Fraction]]:
    """«полтора миллиона»: the value times a scale that follows."""
    part = PARTS.get(words[position]) if position < len(words) else None
    if part is not None and part.kind == "scale" and not part.is_ordinal:
        yield position + 1, value * part.value
