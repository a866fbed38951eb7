"""What every kind of manifest is read into: rows, and the faults met on the way."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from stt_ru.errors import ManifestError
from stt_ru.files.wording import counted, listed, quoted
from stt_ru.text.marked_references import (
    Marked,
    VariantsError,
    looks_marked,
    may_be_marked,
    read_reference,
)
from stt_ru.text.normalize import has_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

AUDIO: Final = "audio"
TEXT: Final = "text"
CHANNEL: Final = "channel"
OWN_NAMES: Final = (AUDIO, TEXT, CHANNEL)

MOST_FAULTS: Final = 20  # the rest is a count

_LONGEST_CHANNEL = 9  # digits

_SYNONYMS = {  # what other tools call these columns
    AUDIO: (
        "audio_filepath audio_file audio_path audiofile audiopath file file_name file_path "
        "filename filepath path record recording wav wav_path аудио запись имя путь файл "
    ),
    TEXT: (
        "ground_truth label ref ref_text reference sentence target transcript transcript_text "
        "transcription utterance расшифровка текст транскрипт транскрипция фраза эталон "
    ),
}
_LOOKALIKES = str.maketrans("аеорсхуткмнв", "aeopcxytkmhb")  # Cyrillic typed for Latin


class Row(NamedTuple):
    """A row whose recording is not looked up yet; None where a fault of it is already noted."""

    place: int | str
    """Line of the manifest file; for a folder, the file that holds the text."""
    audio: str | None
    text: str | None
    channel: int | None
    extra: dict[str, Any]

    @classmethod
    def faulty(cls, place: int | str) -> Row:
        """A row of which nothing more is to be said."""
        return cls(place, None, None, None, {})


class Faults:
    """Faults in the order they are met: the first twenty are kept, the rest counted."""

    def __init__(self, manifest: str) -> None:
        self._manifest = manifest
        self._listed: list[str] = []
        self.count = 0

    def place(self, place: int | str | None) -> str:
        """«eval.csv:3» for a line, «eval.csv» for None, a file as it is."""
        if isinstance(place, str):
            return place
        return self._manifest if place is None else f"{self._manifest}:{place}"

    def add(self, place: int | str | None, message: str | Callable[[], str]) -> None:
        """Note a fault; a message that costs a look at the disk is a function, called if shown."""
        self.count += 1
        if self.count <= MOST_FAULTS:
            text = message if isinstance(message, str) else message()
            self._listed.append(f"{self.place(place)}: {text}")

    def add_all(self, error: ManifestError) -> None:
        """Note faults that name their place themselves."""
        for problem in error.problems:
            self.count += 1
            if self.count <= MOST_FAULTS:
                self._listed.append(problem)

    def raise_if_any(self) -> None:
        """Raise what was noted as one `ManifestError`."""
        more = self.count - len(self._listed)
        if more:
            rest = f"… и ещё {counted(more, 'ошибка', 'ошибки', 'ошибок')}"
            raise ManifestError([*self._listed, f"{self._manifest}: {rest}"])
        if self.count:
            raise ManifestError(self._listed)


def text_fault(text: str, *, allow_empty: bool, variants: bool) -> str | None:
    """What is wrong with a reference; None if nothing is.

    Args:
        text: As written.
        allow_empty: Whether a text without words is a recording without speech.
        variants: Whether marks of `stt_ru.text.marked_references` are read in it.
    """
    if variants and may_be_marked(text):
        try:
            reference = read_reference(text)
        except VariantsError as error:
            return str(error)
        is_empty = reference.is_empty if isinstance(reference, Marked) else not reference
    else:
        is_empty = not has_words(text)
    if not is_empty or allow_empty:
        return None
    what = f"в тексте {quoted(text)} нет ни букв, ни цифр" if text.strip() else "текст пуст"
    if not variants and looks_marked(text):
        return f"{what}: «<*>» и варианты в скобках читают evaluate и score с --variants"
    return f"{what}: впишите, что сказано; если речи в записи нет, добавьте --allow-empty"


class UnreadMarks:
    """References with marks of `stt_ru.text.marked_references` that are not being read."""

    def __init__(self) -> None:
        self._first: tuple[str, str] | None = None
        self._count = 0

    def see(self, place: str, text: str) -> None:
        """Look at one text."""
        if looks_marked(text):
            self._first = self._first or (place, text)
            self._count += 1

    def warnings(self) -> Iterator[str]:
        """One sentence, when there are any."""
        if self._first is None:
            return
        place, text = self._first
        more = f" (и ещё в текстах: {self._count - 1})" if self._count > 1 else ""
        yield (
            f"{place}: в тексте {quoted(text)} есть скобки {{…}} или <*>{more}, прочитаны как "
            "обычный текст; если это варианты, их читают evaluate и score с --variants"
        )


def parse_channel(value: object, line: int, faults: Faults) -> int | None:
    """Channel number in a CSV cell or a JSON value; None if it is missing or a fault was noted."""
    if value is None:
        return None
    if isinstance(value, str):
        digits = value.strip()
        if not digits:
            return None
        if digits.isascii() and digits.isdigit() and len(digits) <= _LONGEST_CHANNEL:
            return int(digits)
    elif isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    written = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    faults.add(
        line,
        f"channel {quoted(written)}: нужен номер канала, целое число от 0, или пустое значение",
    )
    return None


def describe_missing_names(
    missing: Sequence[str], found: Sequence[str], one: str, many: str
) -> str:
    """«нет колонки «audio», есть …», and which of those found it may be.

    Args:
        missing: Names that must be there.
        found: All names that are there.
        one: The word for one of them in the genitive, «колонки».
        many: The same for several, «колонок».
    """
    names = " и ".join(f"«{name}»" for name in missing)
    there = f"есть {listed(found)}" if found else "и никаких других"
    parts = [f"нет {one if len(missing) == 1 else many} {names}, {there}"]
    for name in missing:
        synonyms = _SYNONYMS[name].split()
        for other in found:
            folded = other.strip().casefold()
            if folded in synonyms:
                parts.append(f"переименуйте {quoted(other)} в «{name}»")
                break
            if folded.translate(_LOOKALIKES) == name:
                parts.append(f"в имени {quoted(other)} русские буквы вместо латинских")
                break
    return "; ".join(parts)
