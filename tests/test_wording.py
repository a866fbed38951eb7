"""What a user reads in Russian is spelt with «ё»."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

import pytest

from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SRC = ROOT / "src" / "stt_ru"

SPOKEN: Final = {SRC / "text" / name for name in ("normalize.py", "numbers.py", "numerals.py")}
"""Modules whose literals are words of transcripts, compared with «ё» as «е»."""

PAGES: Final = [
    *(page for page in sorted((ROOT / "docs").glob("*.md")) if page.name != "architecture.md"),
    ROOT / "README.ru.md",
    ROOT / "CHANGELOG.md",
]
"""Pages in Russian."""


def _any_of(words: str) -> str:
    return f"(?:{'|'.join(words.split())})"


# Spellings that have no other reading: «счета» and «узнает», which have one, are left out.
_WHOLE: Final = _any_of(
    "ее нее еще причем втроем вдвоем мое твое свое своем чье ничье имен времен трех четырех трем"
    " четырем счет счетом шел зашел нашел пришел прошел ушел вошел дошел перешел подошел произошел"
    " привел провел перевел произвел"
)
_VERB: Final = (
    _any_of(
        "бер собер вед привед перевед провед войд дойд зайд ид найд обойд отойд перейд пойд прид"
        " пройд уйд да доста зада изда отда переда пода прода созда оста отста вста признава раст"
        " нач начн пойм возьм зов назов жд жив нес принес перенес внес унес упад попад пропад"
        " прочт учт сотр умр шл пошл ль"
    )
    + "е(?:т|тся|м|мся|шь|шься)"
)
_PARTICIPLE: Final = (
    _any_of(
        "введ вовлеч включ возвращ заверш закрепл замен запрещ измен искаж исключ обновл округл"
        " определ отвед отдел отключ перевед переключ поврежд повтор подключ подтвержд помещ"
        " превращ привед примен провед произвед прочт разреш раздел распредел реш свед снабж сокращ"
        " сообщ сохран сравн удал удел упрощ ускор учт"
    )
    + "ен(?:|н(?:ый|ого|ому|ым|ом|ая|ой|ую|ое|ые|ых|ыми))"
)
_NOUN: Final = (
    _any_of("отчет подсчет расчет пересчет учет зачет недочет объем прием подъем")
    + "(?:|а|у|ом|е|ы|ов|ам|ами|ах)"
)
_ADJECTIVE: Final = (
    _any_of("черн желт зелен тверд темн тепл надежн четк жестк легк дешев весел серьезн")
    + "(?:ый|ий|ого|ому|ая|ую|ое|ые|ие|ых|их|ыми|ими)"
)
WITHOUT_YO: Final = re.compile(
    r"\b(?-i:(?=[А-Яа-яё][а-яё]*\b))"
    rf"(?:{'|'.join((_WHOLE, _VERB, _PARTICIPLE, _NOUN, _ADJECTIVE))}"
    r"|распознаетс\w*|узнаетс\w*|съемк\w+|самолет\w*)\b",
    re.IGNORECASE,
)


def texts_of(module: Path) -> Iterator[tuple[int, str]]:
    """Russian literals of a module with their lines; of docstrings those that are help."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    docstrings = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and not re.match("[А-ЯЁ]", str(node.value.value))
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in docstrings:
            yield node.lineno, str(node.value)


def prose_of(page: Path) -> Iterator[tuple[int, str]]:
    """Lines of a page with their numbers; its blocks and code, where texts of models are, empty."""
    text = page.read_text(encoding="utf-8")
    text = re.sub(r"^```.*?^```", lambda m: "\n" * m[0].count("\n"), text, flags=re.M | re.S)
    for number, line in enumerate(text.splitlines(), 1):
        yield number, re.sub(r"`[^`]*`", "", line)


def test_what_the_program_says_is_spelt_with_yo() -> None:
    found = [
        f"{module.relative_to(ROOT)}:{line}: {word}"
        for module in sorted(SRC.rglob("*.py"))
        if module not in SPOKEN
        for line, text in texts_of(module)
        for word in WITHOUT_YO.findall(text)
    ]
    assert not found


def test_the_pages_are_spelt_with_yo() -> None:
    templates = [*SRC.rglob("*.j2"), *SRC.rglob("*.html")]
    found = [
        f"{page.relative_to(ROOT)}:{line}: {word}"
        for page in [*PAGES, *templates]
        for line, text in prose_of(page)
        for word in WITHOUT_YO.findall(text)
    ]
    assert not found


@pytest.mark.parametrize(
    "word",
    ["еще", "Ее", "берется", "войдет", "отчетом", "учета", "ведет", "поврежден", "поврежденная",
     "распознается", "свое", "трех", "объема", "начнется"],
)  # fmt: skip
def test_a_word_without_yo_is_noticed(word: str) -> None:
    assert WITHOUT_YO.search(f"а {word} там")


@pytest.mark.parametrize(
    "word",
    ["счета", "решена", "найден", "удалена", "пишет", "примет", "станет", "едет", "времени",
     "ещё", "её", "берётся", "отчёт", "учёта", "повреждён", "равен", "далее", "желтеет"],
)  # fmt: skip
def test_a_word_that_is_right_is_not(word: str) -> None:
    assert not WITHOUT_YO.search(f"а {word} там")
