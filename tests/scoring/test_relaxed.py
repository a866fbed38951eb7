from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stt_ru.errors import UsageError
from stt_ru.scoring.counts import ErrorCounts, count_edits
from stt_ru.scoring.multi_reference import score_reference
from stt_ru.scoring.relaxed import (
    FILLERS,
    MOST_BRANCHES,
    Edge,
    Glossary,
    Match,
    Rules,
    _rows,
    count_each,
    count_errors,
    find_matches,
    read_glossary,
)
from stt_ru.text.marked_references import ANYTHING, Marked, read_reference
from stt_ru.text.normalize import normalize
from stt_ru.text.numbers import Words, _split_any, split_words, word_spans
from stt_ru.text.numerals import _ALONE, PARTS, numerals

NUMBERS = Rules(numbers=True)
PHONE = "восемь восемьсот пятьсот пятьдесят пять тридцать пять тридцать пять"


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("15", "пятнадцать"), ("15", "пятнадцати"), ("15", "пятнадцатью"), ("15", "пятнадцатый"),
        ("0", "ноль"), ("0", "нуля"), ("1", "одна"), ("1", "первое"), ("2", "две"), ("2", "двумя"),
        ("2", "двое"), ("3", "трех"), ("3", "трёх"), ("3", "третьего"), ("4", "четырьмя"),
        ("5", "пятерых"), ("8", "восьмью"), ("11", "одиннадцатом"), ("19", "девятнадцати"),
        ("40", "сорока"), ("40", "сороковой"), ("90", "девяноста"), ("100", "ста"),
        ("200", "двухсот"), ("500", "пятьюстами"), ("900", "девятисотый"), ("21", "двадцать один"),
        ("21-й", "двадцать первый"), ("21-го", "двадцать первого"), ("21й", "двадцать первый"),
        ("1-е", "первое"), ("10-ти", "десяти"), ("3-х", "трёх"), ("5-ю", "пятью"),
        ("101", "сто один"), ("115", "сто пятнадцать"), ("999", "девятьсот девяносто девять"),
        ("2013", "две тысячи тринадцатого"), ("2013", "две тысячи тринадцать"),
        ("2000", "двухтысячный"), ("2000", "двух тысяч"), ("1000", "тысяча"), ("1 000", "тысяча"),
        ("1 000", "одна тысяча"), ("1\u00a0000", "тысячу"), ("1000", "тысячный"),
        ("12 345", "двенадцать тысяч триста сорок пять"), ("1 000 000", "миллион"),
        ("1000000", "один миллион"), ("2 500 000", "два миллиона пятьсот тысяч"),
        ("5 тысяч", "пять тысяч"), ("5 тыс.", "пять тысяч"), ("5 000", "5 тысяч"),
        ("1,5 млн", "полтора миллиона"), ("2,5 тысячи", "две с половиной тысячи"),
        ("1 млрд", "один миллиард"), ("3,5", "три с половиной"), ("3.5", "три с половиной"),
        ("3,5", "три и пять десятых"), ("3,5", "три целых и пять десятых"),
        ("3,5", "три целых пять десятых"), ("0,02", "ноль целых две сотых"),
        ("1,5", "полтора"), ("0,5", "половина"), ("1/2", "половина"), ("1/2", "½"),
        ("2½", "два с половиной"), ("3/10", "три десятых"), ("1/3", "треть"), ("0,25", "четверть"),
        ("10:30", "десять тридцать"), ("10:30", "десять часов тридцать минут"),
        ("10.30", "десять тридцать"), ("10:05", "десять ноль пять"), ("10:00", "десять часов"),
        ("10:00", "десять ноль ноль"), ("10:30", "10 часов 30 минут"),
        ("50 %", "пятьдесят процентов"), ("50%", "пятьдесят процентов"),
        ("50%", "пятьюдесятью процентами"), ("50%", "50 процентов"),
        ("3,5 %", "три с половиной процента"),
        ("100 ₽", "сто рублей"), ("100 руб", "100 руб"), ("$5", "пять долларов"),
        ("№ 5", "номер пять"), ("№5", "номер пять"), ("№ 5", "номер 5"), ("-5", "минус пять"),
        ("21.05", "двадцать первое мая"),
        ("21.05.2013", "двадцать первого мая две тысячи тринадцатого года"),
        ("21 мая 2013", "двадцать первое мая две тысячи тринадцатого"),
        ("21.05.2013", "21 мая 2013 года"),
        ("5594", "пятьдесят пять девяносто четыре"), ("5594", "пять пять девять четыре"),
        ("007", "ноль ноль семь"),
        ("8 800 555-35-35", PHONE),
        ("88005553535", PHONE), ("8 (800) 555-35-35", PHONE),
        ("8 800 555 35 35", "88005553535"), ("1000", "1 000"), ("300", "триста"),
        ("5\u0301 000", "пя\u0301ть ты\u00adсяч"),
        ("шестьдесят тысяч тенге", "60 000 тенге"), ("нажмите 1", "нажмите один"),
    ],
)  # fmt: skip
def test_a_figure_and_its_spellings_are_the_same_either_way(one: str, two: str) -> None:
    for left, right in ((one, two), (two, one)):
        for around in ("{}", "вот {} и всё", "да {}"):
            counts = count_errors(around.format(left), around.format(right), NUMBERS)
            assert counts.errors == 0
            assert counts.length == len(normalize(around.format(left)).split())


@pytest.mark.parametrize(
    ("one", "two", "errors"),
    [
        ("15", "шестнадцать", 1),
        ("15", "пятьдесят", 1),
        ("пятнадцать", "пятнадцати", 1),  # a wrong ending is an error when no figure hides it
        ("три с половиной", "три и пять десятых", 3),
        ("2013", "две тысячи четырнадцатого", 3),
        ("две тысячи тринадцатого", "2014", 3),
        ("21", "двадцать", 1),
        ("3,5", "тридцать пять", 1),
        ("10:30", "десять сорок", 1),  # «10» is «десять»
        ("50 %", "пятьдесят рублей", 1),
        ("1 000", "одна миллион", 1),
        ("семья", "7", 1),
        ("сто", "стоп 100", 1),
        ("1/2", "одна", 1),
        ("5-й", "пять и", 1),
    ],
)
def test_other_numbers_are_errors(one: str, two: str, errors: int) -> None:
    assert count_errors(one, two, NUMBERS).errors == errors


def test_a_figure_matched_by_three_words_counts_as_the_words_of_the_reference() -> None:
    assert count_errors("2013", "две тысячи тринадцатого", NUMBERS).length == 1
    assert count_errors("две тысячи тринадцатого", "2013", NUMBERS).length == 3


def test_what_was_matched_can_be_read() -> None:
    found = find_matches(
        "Скидка 50 % до 21-го мая", "скидка пятьдесят процентов до двадцать первого мая", NUMBERS
    )
    assert found == [
        Match("numbers", "50", "пятьдесят процентов"),
        Match("numbers", "21 го", "двадцать первого"),
    ]
    assert find_matches("да", "да", NUMBERS) == []


def test_every_inflected_numeral_below_a_thousand_has_one_value() -> None:
    assert len(PARTS) > 900
    for word, part in PARTS.items():
        assert normalize(word) == word
        values = {value for end, value in numerals([word], 0) if end == 1}
        assert values in ({Fraction(part.value)}, set()) or word == "третью"


def names(text: str) -> list[str]:
    return [word.strip("_") for word in text.split()]


UNITS = names(
    "_ один два три четыре пять шесть семь восемь девять десять одиннадцать двенадцать тринадцать "
    "четырнадцать пятнадцать шестнадцать семнадцать восемнадцать девятнадцать"
)
TENS = names("_ _ двадцать тридцать сорок пятьдесят шестьдесят семьдесят восемьдесят девяносто")
HUNDREDS = names("_ сто двести триста четыреста пятьсот шестьсот семьсот восемьсот девятьсот")


def spelt(number: int) -> str:
    """The number in words, the obvious way; the gender of «тысяча» does not matter here."""
    if number == 0:
        return "ноль"
    words = []
    for value, name in ((10**9, "миллиардов"), (10**6, "миллиона"), (1000, "тысяч"), (1, "")):
        group, number = divmod(number, value)
        if not group:
            continue
        tens, units = (0, group % 100) if group % 100 < 20 else divmod(group % 100, 10)
        words += [HUNDREDS[group // 100], TENS[tens], UNITS[units], name]
    return " ".join(word for word in words if word)


@given(st.integers(0, 10**12 - 1))
def test_every_number_is_its_words(number: int) -> None:
    assert count_errors(str(number), spelt(number), NUMBERS).errors == 0
    assert count_errors(f"{number:,}".replace(",", " "), spelt(number), NUMBERS).errors == 0


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_different_numbers_are_never_the_same(one: int, two: int) -> None:
    errors = count_errors(str(one), spelt(two), NUMBERS).errors
    said = spelt(two).split()
    is_same = one == two or any("".join(map(str, parts)) == str(one) for parts in readings(said))
    assert (errors == 0) == is_same


def readings(words: list[str]) -> list[list[int]]:
    """Every way to cut words into whole numbers."""
    if not words:
        return [[]]
    return [
        [int(value), *rest]
        for end, value in numerals(words, 0)
        if value.denominator == 1
        for rest in readings(words[end:])
    ]


TEXTS = st.lists(
    st.sampled_from(names("5 15 1000 пять пятнадцать тысяча да нет не льзя нельзя ну э яндекс")),
    max_size=7,
).map(" ".join)
GLOSSARY = Glossary({("яндекс",): 1, ("да", "да"): 1, ("нет",): 2, ("пять", "да"): 2})
ALL = Rules(numbers=True, compounds=True, glossary=GLOSSARY)


@given(TEXTS, TEXTS)
def test_rules_only_take_errors_away_and_keep_the_length(one: str, two: str) -> None:
    plain = count_edits(one.split(), two.split())
    counts = count_errors(one, two, ALL)
    assert counts.length == plain.length
    assert 0 <= counts.errors <= plain.errors
    assert count_errors(one, two, Rules()).errors == plain.errors
    assert count_errors(one, one, ALL).errors == 0
    assert count_errors(two, one, ALL).errors == counts.errors


@given(TEXTS, TEXTS)
def test_several_rules_at_once_find_what_each_finds_alone(one: str, two: str) -> None:
    asked = [
        Rules(numbers=True),
        Rules(compounds=True),
        Rules(fillers=FILLERS),
        Rules(glossary=GLOSSARY),
        ALL,
        Rules(numbers=True, compounds=True, fillers=FILLERS, glossary=GLOSSARY),
    ]
    plain = count_edits(one.split(), two.split())
    found = count_each(one, two, asked, ErrorCounts(plain.errors, plain.length))
    assert found == [count_errors(one, two, rules) for rules in asked]


@given(TEXTS, TEXTS)
def test_the_matches_account_for_the_errors(one: str, two: str) -> None:
    """Rewriting what was matched gives texts with as many plain errors."""
    true, heard = one.split(), two.split()
    for number, match in enumerate(find_matches(one, two, ALL)):
        assert match.reference in one
        assert match.hypothesis in two
        true, heard = (
            replaced(true, match.reference.split(), f"#{number}"),
            replaced(heard, match.hypothesis.split(), f"#{number}"),
        )
    # Repeated words may be replaced in another place, which can only cost more.
    assert count_edits(true, heard).errors >= count_errors(one, two, ALL).errors


def replaced(words: list[str], part: list[str], mark: str) -> list[str]:
    for start in range(len(words)):
        if words[start : start + len(part)] == part:
            return [*words[:start], mark, *words[start + len(part) :]]
    return words


EDGES = st.lists(
    st.tuples(*[st.integers(0, 5)] * 4).filter(lambda e: e[0] < e[1] and e[2] < e[3]), max_size=4
)


@given(st.text("аб", max_size=5), st.text("аб", max_size=5), EDGES)
def test_the_table_is_that_of_the_obvious_recursion(
    one: str, two: str, spans: list[tuple[int, int, int, int]]
) -> None:
    edges = [
        Edge(*span, "numbers") for span in spans if span[1] <= len(one) and span[3] <= len(two)
    ]

    def fewest(i: int, j: int) -> int:
        if i == j == 0:
            return 0
        ways = []
        if i:
            ways.append(fewest(i - 1, j) + 1)
        if j:
            ways.append(fewest(i, j - 1) + 1)
        if i and j:
            ways.append(fewest(i - 1, j - 1) + (one[i - 1] != two[j - 1]))
        ways += [fewest(e.i, e.j) for e in edges if (e.i_end, e.j_end) == (i, j)]
        return min(ways)

    *_, last = _rows(one, two, edges)
    assert int(last[-1]) == fewest(len(one), len(two))


@pytest.mark.parametrize(
    ("one", "two", "errors"),
    [
        ("нельзя так", "не льзя так", 0),
        ("не льзя так", "нельзя так", 0),
        ("телевизионные новости", "телевизион ные новости", 0),
        ("кто-то пришёл", "ктото пришёл", 0),
        ("по-английски", "поанглийски", 0),
        ("не льзя", "нельза", 2),
        ("а б в", "абв", 0),
        ("а б в г", "абвг", 4),  # longer than a compound
        ("чтобыу видеть всё", "чтобы увидеть всё", 0),  # parted elsewhere
        ("аб вгд е", "а бвг де", 0),
        ("а бв", "аб в", 0),
        ("аб вг", "аб вгд", 1),
        ("12", "1 2", 2),
        ("6 00", "600", 2),
        ("б12", "б1 2", 2),
        ("1 23", "12 3", 2),
        ("5 а", "5а", 0),
    ],
)
def test_words_written_together_and_apart(one: str, two: str, errors: int) -> None:
    assert count_errors(one, two, Rules(compounds=True)).errors == errors


LETTERS = st.lists(st.sampled_from(["а", "б", "аб", "ба", "аба"]), max_size=4)


@settings(max_examples=500)
@given(LETTERS, LETTERS)
@example(["а", "б"], ["аб"])
def test_compounds_are_those_of_the_obvious_recursion(
    reference: list[str], hypothesis: list[str]
) -> None:
    counted = count_errors(" ".join(reference), " ".join(hypothesis), Rules(compounds=True))
    assert counted.errors == _errors_with_compounds(tuple(reference), tuple(hypothesis))


@cache
def _errors_with_compounds(reference: tuple[str, ...], hypothesis: tuple[str, ...]) -> int:
    """Fewest errors when up to three words equal any up to three words with the same letters."""
    if not reference or not hypothesis:
        return len(reference) + len(hypothesis)
    rest = _errors_with_compounds
    ways = [
        1 + rest(reference[1:], hypothesis),
        1 + rest(reference, hypothesis[1:]),
        (reference[0] != hypothesis[0]) + rest(reference[1:], hypothesis[1:]),
    ]
    ways += [
        rest(reference[i:], hypothesis[j:])
        for i, j in product((1, 2, 3), repeat=2)
        if "".join(reference[:i]) == "".join(hypothesis[:j])
    ]
    return min(ways)


def test_fillers_leave_both_texts_and_the_denominator() -> None:
    counts = count_errors("ну я э-э пришёл", "я ну пришёл", Rules(fillers=FILLERS))
    assert (counts.errors, counts.length) == (0, 2)
    assert count_errors("ну да", "да", Rules()).errors == 1


def test_brands_of_a_glossary(tmp_path: Path) -> None:
    file = tmp_path / "brands.txt"
    file.write_text(
        "# наши\nЯндекс = Yandex = янд екс\n\nwhatsapp=ватсап # чат\n", encoding="utf-8"
    )
    rules = Rules(glossary=read_glossary(file))
    assert count_errors("открой Яндекс и WhatsApp", "открой янд екс и ватсап", rules).errors == 0
    assert count_errors("открой яндекс", "открой ватсап", rules).errors == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [("яндекс", ":1: нужны хотя бы две"), ("а=б\n = в", ":2: нужны"), ("а=б\nа=в", "уже есть")],
)
def test_a_broken_glossary_is_a_sentence(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "brands.txt"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=message):
        read_glossary(file)


@given(st.text("аё5½,.:-% \u00ad\u0301№", max_size=12))
def test_words_with_signs_are_the_normalised_words(text: str) -> None:
    split = split_words(text)
    assert " ".join(split.words) == normalize(text)
    assert len(split.gaps) == len(split.words) + 1


@given(st.text("аЁзZ5½,.:-%_ \t\n\u00a0\u2009\u00ad\u0301№«…", max_size=12))
def test_plain_texts_are_cut_as_any_others(text: str) -> None:
    assert split_words(text) == _split_any(text, normalize(text))


NUMERAL_WORDS = (*_ALONE, "да", "с", "номер", "минус", "5")


@given(st.lists(st.sampled_from(NUMERAL_WORDS) | st.sampled_from([*PARTS]), max_size=5))
def test_every_numeral_begins_with_a_word_that_is_known_to(words: list[str]) -> None:
    text = Words(tuple(words), ("", *[" "] * len(words)))
    starts = {
        start
        for start in range(len(words))
        for end, _ in numerals(words, start)
        if "5" not in words[start:end]
    }
    assert starts <= {span.start for span in word_spans(text)}


def with_variants(reference: str, heard: str, *asked: Rules) -> list[ErrorCounts]:
    marked = read_reference(reference)
    score, chosen = score_reference(marked, normalize(heard))
    plain = ErrorCounts(score.words.errors, score.words.length)
    return count_each(reference, heard, asked, plain, chosen=chosen)


@pytest.mark.parametrize(
    ("reference", "heard", "errors", "length"),
    [
        pytest.param("{шесть|пятнадцать} лет", "15 лет", 0, 2, id="another branch by the rule"),
        pytest.param("{ну} пятнадцать <*>", "15 и ещё 3", 0, 1, id="anything behind"),
        pytest.param("<*> пятнадцать", "ещё 3 и 15", 0, 1, id="anything before"),
        pytest.param("{да|нет}", "пять", 1, 1, id="nothing to do with numbers"),
        pytest.param("двадцать {один|два}", "22", 0, 2, id="a number over the edge of a choice"),
        pytest.param("двадцать <*> два", "22", 2, 2, id="no number over anything"),
        pytest.param("<*>", "15", 0, 0, id="only anything"),
    ],
)
def test_the_branch_is_chosen_anew_under_a_rule(
    reference: str, heard: str, errors: int, length: int
) -> None:
    assert with_variants(reference, heard, NUMBERS) == [ErrorCounts(errors, length)]


def test_matches_are_those_of_the_branch_that_was_taken() -> None:
    def found(reference: str, heard: str) -> list[Match]:
        chosen = score_reference(read_reference(reference), normalize(heard))[1]
        return find_matches(reference, heard, NUMBERS, chosen=chosen)

    assert found("{шесть|пятнадцать} лет", "15 лет") == [Match("numbers", "пятнадцать", "15")]
    assert found("<*> пять <*> шесть", "2 и 5 или 7 или 6") == [
        Match("numbers", "пять", "5"),
        Match("numbers", "шесть", "6"),
    ]


MARKED = st.lists(
    st.sampled_from(
        ("двадцать", "{пять|шесть}", "{25|двадцать шесть}", "{ну}", ANYTHING, "{не льзя|5}", "5")
    ),
    min_size=1,
    max_size=4,
).map(" ".join)
HEARD = st.lists(
    st.sampled_from(("двадцать", "пять", "25", "26", "5", "ну", "нельзя")), max_size=5
).map(" ".join)


@given(MARKED, HEARD)
def test_the_branch_under_a_rule_is_the_best_of_all(reference: str, heard: str) -> None:
    marked = read_reference(reference)
    if not isinstance(marked, Marked) or marked.branches > MOST_BRANCHES:
        return
    rules = Rules(numbers=True, compounds=True)
    (counts,) = with_variants(reference, heard, rules)
    plain = score_reference(marked, normalize(heard))[0].words
    assert counts.errors <= plain.errors
    if ANYTHING not in reference:
        texts = marked.texts(MOST_BRANCHES)
        assert counts.errors == min(count_errors(text, heard, rules).errors for text in texts)


def test_of_too_many_branches_the_one_that_was_said_is_taken() -> None:
    reference = "{шесть|пятнадцать} " + "{ну} " * 4
    assert with_variants(reference, "15", NUMBERS) == [ErrorCounts(1, 1)]
    assert with_variants("{шесть|пятнадцать} {ну}", "15", NUMBERS) == [ErrorCounts(0, 1)]
