from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stt_ru.text.marked_references import (
    ANYTHING,
    DEEPEST,
    MOST_ALTERNATIVES,
    Alternative,
    Marked,
    VariantsError,
    looks_marked,
    read_reference,
)
from stt_ru.text.normalize import normalize

PIECES = ("а", "б", "Ёж", " ", " ", "-", "{", "|", "|", "}", "{", "}", ANYTHING, "\u0301")
TEXTS = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


def put_in(text: str) -> list[str]:
    """Every text without braces that this one may become, by replacing the innermost choice."""
    choice = re.search(r"\{([^{}]*)\}", text)
    if choice is None:
        return [text]
    alternatives = choice[1].split("|")
    if len(alternatives) == 1:
        alternatives.append("")
    before, after = text[: choice.start()], text[choice.end() :]
    return [whole for one in alternatives for whole in put_in(before + one + after)]


def as_words(text: str) -> tuple[str, ...]:
    stretches = [normalize(stretch) for stretch in text.split(ANYTHING)]
    return tuple(f" {ANYTHING} ".join(stretches).split())


@pytest.mark.parametrize(
    ("written", "branches"),
    [
        pytest.param("{тысяча|1000} рублей", ["тысяча рублей", "1000 рублей"], id="choice"),
        pytest.param("{ну} да", ["ну да", "да"], id="optional"),
        pytest.param("{|ну} да", ["да", "ну да"], id="optional, empty first"),
        pytest.param("{да} {да|нет|ну}", ["да да", "да нет", "да ну", "да", "нет", "ну"], id="two"),
        pytest.param("{а {б|в}|г} д", ["а б д", "а в д", "г д"], id="nested"),
        pytest.param("{по {второму}} кругу", ["по второму кругу", "по кругу", "кругу"], id="in"),
        pytest.param("пришл{а|и} дом", ["пришла дом", "пришли дом"], id="end of a word"),
        pytest.param("дом{|ой}", ["дом", "домой"], id="optional end of a word"),
        pytest.param("{за|по}шёл", ["зашёл", "пошёл"], id="beginning of a word"),
        pytest.param("{а|б}{в|г}", ["ав", "аг", "бв", "бг"], id="touching"),
        pytest.param("«{Да|Нет}», он", ["«Да», он", "«Нет», он"], id="touching signs"),
        pytest.param("по-{русски|английски}", ["по-русски", "по-английски"], id="hyphen"),
        pytest.param("{двадцать пять|25}", ["двадцать пять", "25"], id="two words against one"),
        pytest.param("{Да|да}", ["Да"], id="one after normalisation"),
        pytest.param("{<*>|да}", ["<*>", "да"], id="anything in a choice"),
        pytest.param("<*> да<*>", ["<*> да<*>"], id="anything at both ends"),
        pytest.param("{–|ну}", ["–", "ну"], id="a sign is no word"),
        pytest.param(r"\{а|б\} {в\||г}", [r"\{а|б\} в\|", r"\{а|б\} г"], id="escaped"),
        pytest.param(r"\\{а|б}", [r"\\а", r"\\б"], id="escaped backslash"),
        pytest.param(r"C:\а {б|в}", [r"C:\а б", r"C:\а в"], id="a backslash of the text"),
    ],
)  # fmt: skip
def test_what_a_marked_text_may_become(written: str, branches: list[str]) -> None:
    reference = read_reference(written)
    assert isinstance(reference, Marked)
    assert reference.texts(100) == branches
    assert reference.branches == len(branches)
    assert reference.texts(1) == branches[:1]


@pytest.mark.parametrize(
    "text",
    ["", "Да, нет.", "а|б", "a < b * c > d", r"\{а\} б", r"\<*> а", r"\{\}"],
)
def test_a_text_without_marks_is_normalised(text: str) -> None:
    assert read_reference(text) == normalize(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("да {тысяча|1000 рублей", "скобка открыта и не закрыта: «{тысяча|1000 рублей»; закройте"),
        ("{а|{б}", "скобка открыта и не закрыта: «{а|{б}»"),
        ("да} нет", r"лишняя «}» после «да»: уберите её или, если это знак текста, напишите \}"),
        ("} нет", "лишняя «}» после «»"),
        ("{}", "в «{}» нет ни одного слова: впишите варианты"),
        ("да {|}", "в «{|}» нет ни одного слова"),
        ("да {?!} нет", "в «{?!}» нет ни одного слова"),
        ("{ тысяча / 1000 } рублей", "«{ тысяча / 1000 }»: варианты разделяет «|», а не «/»"),
        ("{" * 21 + "а" + "}" * 21, f"скобки вложены глубже {DEEPEST}: «{{а}}"),
        ("{" * 100_000, "скобки вложены глубже"),
        ("{а|б}" * 10, f"больше {MOST_ALTERNATIVES} сочетаний вариантов в одном месте «{{а|б}}"),
        ("{" + "|".join(map("а{}".format, range(1_001))) + "}", "больше 1000 вариантов в «{а0|а1|"),
    ],
)  # fmt: skip
def test_broken_marks_say_where_and_what_to_do(text: str, message: str) -> None:
    with pytest.raises(VariantsError) as error:
        read_reference(text)
    assert str(error.value).startswith(message)


def test_spaces_part_what_would_be_too_many_combinations() -> None:
    reference = read_reference("{а|б} " * 100)
    assert isinstance(reference, Marked)
    assert reference.branches == 2**100


@given(TEXTS)
def test_the_branches_are_the_texts_with_each_choice_put_in(text: str) -> None:
    try:
        reference = read_reference(text)
    except VariantsError:
        return
    if isinstance(reference, str):
        assert reference == normalize(text)
        return
    found = {Alternative.of(branch).words for branch in reference.texts(10_000)}
    assert found == set(map(as_words, put_in(text)))


@given(TEXTS)
def test_a_branch_read_again_is_the_same_branch(text: str) -> None:
    try:
        reference = read_reference(text)
    except VariantsError:
        return
    for branch in reference.texts(20) if isinstance(reference, Marked) else ():
        again = read_reference(branch)
        words = Alternative.of(branch).words
        if ANYTHING not in words:
            assert again == " ".join(words)
            continue
        assert isinstance(again, Marked)
        assert again.branches == 1
        assert tuple(word for (one,) in again.places for word in one.words) == words
        assert " ".join(w for w in words if w != ANYTHING) == normalize(branch)


def test_equal_meanings_have_equal_texts() -> None:
    one = read_reference("{Тысяча|1000}  рублей, {ну!} <*>")
    other = read_reference("{тысяча|1000} рублей {ну|} <*>")
    assert isinstance(one, Marked)
    assert isinstance(other, Marked)
    assert one.text == other.text == "{тысяча|1000} рублей {ну|} <*>"


@pytest.mark.parametrize(
    ("text", "is_marked"),
    [("да", False), ("{а|б}", True), ("<*>", True), ("{", False), ("a}b{", False), ("а|б", False)],
)
def test_texts_with_marks_are_noticed(text: str, is_marked: bool) -> None:
    assert looks_marked(text) is is_marked
