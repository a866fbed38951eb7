"""Text as it is compared: lower-case words of letters and digits, «ё» as «е», nothing else.

The rules are frozen under `NORMALIZER`: a change that can move a published figure takes a new
version.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

NORMALIZER: Final = "ru-1"
"""Id and version of the rules; part of every report's signature."""


class _CharacterMap(dict[int, str]):
    """What each character becomes; filled on first sight, so that `str.translate` stays in C."""

    def __missing__(self, code: int) -> str:
        replacement = self[code] = self.replacement(chr(code))
        return replacement

    @staticmethod
    def replacement(character: str) -> str:
        raise NotImplementedError


class _WithoutInvisible(_CharacterMap):
    @staticmethod
    def replacement(character: str) -> str:
        return "" if unicodedata.category(character) == "Cf" else character


class _WordCharacters(_CharacterMap):
    @staticmethod
    def replacement(character: str) -> str:
        if character == "ё":
            return "е"
        category = unicodedata.category(character)[0]
        if category == "M":  # stress and other marks that did not compose into a letter
            return ""
        return character if category in "LN" else " "


_WITHOUT_INVISIBLE = _WithoutInvisible()
_WORD_CHARACTERS = _WordCharacters()

# Nearly every text is of these alone, and one substitution does for it what the rules do one by
# one.
_COMMON = re.compile(r"[\x20-\x7e\s«»–—…№А-яЁё]*")
_NOT_WORDS = re.compile(r"[^0-9a-zа-я]+")

# Unicode's N* categories as ranges: re's \d is Nd alone, and «²», «½», «Ⅷ», «①» are figures too.
_DIGITS = re.compile(r"[\d²³¹¼-¾⁰-₉⅐-↋①-⒛⓪-⓿❶-➓]")
_MIXED_SCRIPTS = re.compile(r"[а-я][a-z]|[a-z][а-я]")


def normalize(text: str) -> str:
    """Text reduced to what is compared: words of letters and digits with one space between.

    Invisible characters (Unicode ``Cf``: soft hyphen, zero-width space) are removed, so that they
    do not split a word; letters are composed (NFC), the combining marks that remain are removed;
    lower case, «ё» as «е»; everything but letters (``L``) and digits (``N``: «5», also «½», «²»,
    «Ⅷ») is a space. Numbers are not converted. Twice is the same as once.

    Example:
        >>> normalize("Ёлка, кто-то   сказал: «15 мину\u0301т»!")
        'елка кто то сказал 15 минут'
    """
    if _COMMON.fullmatch(text):
        return _NOT_WORDS.sub(" ", text.lower().replace("ё", "е")).strip()
    return _normalize_by_category(text)


def _normalize_by_category(text: str) -> str:
    visible = unicodedata.normalize("NFC", text.translate(_WITHOUT_INVISIBLE)).lower()
    words = " ".join(visible.translate(_WORD_CHARACTERS).split())
    # Letters between which a mark stood may compose now (Hangul); free when nothing does.
    return unicodedata.normalize("NFC", words)


def has_words(text: str) -> bool:
    """Whether anything is left of the text after `normalize`, in a fraction of its time.

    Example:
        >>> has_words("«Да?»"), has_words("… – !")
        (True, False)
    """
    return any(map(str.isalnum, text))


def has_digits(text: str) -> bool:
    """Whether a figure stands in the text, «½», «²» and «Ⅷ» included; «пять» is none.

    Example:
        >>> has_digits("кабинет 5"), has_digits("кабинет пять")
        (True, False)
    """
    return _DIGITS.search(text) is not None


def has_mixed_scripts(normalized: str) -> bool:
    """Whether a Latin letter touches a Cyrillic one inside a word, as in «cтол» with a Latin «c».

    Args:
        normalized: The text after `normalize`.
    """
    return _MIXED_SCRIPTS.search(normalized) is not None
