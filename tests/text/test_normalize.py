from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stt_ru.text.normalize import (
    _normalize_by_category,
    has_digits,
    has_mixed_scripts,
    has_words,
    normalize,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "Ёлка, кто-то   сказал: «15 мину\u0301т»!", "елка кто то сказал 15 минут", id="issue"
        ),
        pytest.param("за\u0301мок", "замок", id="stress stays inside the word"),
        pytest.param("чаи\u0306", "чай", id="й decomposed"),
        pytest.param("ее\u0308", "ее", id="ё decomposed"),
        pytest.param("Ё", "е", id="ё upper case"),
        pytest.param("элек\u00adтричка", "электричка", id="soft hyphen"),
        pytest.param("сло\u200bво", "слово", id="zero-width space"),
        pytest.param("\ufeffслово", "слово", id="byte order mark"),
        pytest.param("чаи\u200d\u0306", "чай", id="joiner between a letter and its breve"),
        pytest.param("C++", "c", id="C++"),
        pytest.param("№ 5", "5", id="number sign"),
        pytest.param("3,5 %", "3 5", id="decimal comma"),
        pytest.param("1\u00a0000", "1 000", id="no-break space"),
        pytest.param("да 👍🏽 нет", "да нет", id="emoji with a skin tone"),
        pytest.param("❤\ufe0f", "", id="emoji alone"),
        pytest.param("½ м²", "½ м²", id="fraction and superscript are figures"),
        pytest.param("Том Ⅷ", "том ⅷ", id="Roman numeral sign is a figure"),
        pytest.param("cтол", "cтол", id="Latin c in a Cyrillic word is kept"),
        pytest.param("кто-то", "кто то", id="hyphen"),
        pytest.param("и/или", "и или", id="slash"),
        pytest.param("it's", "it s", id="apostrophe"),
        pytest.param("snake_case", "snake case", id="underscore"),
        pytest.param("\tодин\r\nдва\u2028три", "один два три", id="line breaks"),
        pytest.param("один\x00два", "один два", id="control character"),
        pytest.param("...!?", "", id="punctuation alone"),
        pytest.param("", "", id="empty"),
        pytest.param("İ", "i", id="lower case that makes a mark"),
        pytest.param("résumé", "résumé", id="Latin letter with its accent composed"),
        pytest.param("ї Ґ ў", "ї ґ ў", id="neighbours' letters"),
    ],
)
def test_normalize(text: str, expected: str) -> None:
    assert normalize(text) == expected


@given(st.text())
def test_twice_is_the_same_as_once(text: str) -> None:
    assert normalize(normalize(text)) == normalize(text)


@given(st.text(alphabet="абвАБВёЁйЙazAZ019 .,-–—«»№!?\t\n\u00a0_"))
def test_the_short_way_for_common_texts_gives_what_the_rules_give(text: str) -> None:
    assert normalize(text) == _normalize_by_category(text)


@given(st.text())
def test_only_letters_digits_and_single_spaces_remain(text: str) -> None:
    words = normalize(text)
    assert words == " ".join(words.split())
    assert all(character.isalnum() or character == " " for character in words)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("кабинет 5", True),
        ("кабинет пять", False),
        ("½", True),
        ("м²", True),
        ("Ⅷ", True),
        ("①", True),
        ("٣", True),
        ("", False),
        ("XIV", False),
    ],
)
def test_has_digits(text: str, expected: bool) -> None:
    assert has_digits(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cтол", True),
        ("тcp", True),
        ("стол tv", False),
        ("стол", False),
        ("wi fi", False),
        ("а1b", False),
    ],
)
def test_has_mixed_scripts(text: str, expected: bool) -> None:
    assert has_mixed_scripts(text) is expected


@given(st.text(max_size=6) | st.text("аZ5½№Ⅷ\u0301\u00ad.…👍一々", max_size=6))
def test_a_text_has_words_when_normalising_leaves_some(text: str) -> None:
    assert has_words(text) is bool(normalize(text))
