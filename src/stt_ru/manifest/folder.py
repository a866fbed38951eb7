"""A folder as a manifest: beside each recording a ``.txt`` of its name."""

from __future__ import annotations

import errno
import re
import stat
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from stt_ru.errors import ManifestError
from stt_ru.files.reading import CSV_SUFFIXES, JSONL_SUFFIXES, describe_os_error, kind, read_text
from stt_ru.files.wording import counted, listed
from stt_ru.manifest.recordings import AUDIO_SUFFIXES
from stt_ru.manifest.rows import Faults, Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


def read_folder(name: str, faults: Faults, warn: Callable[[str], None]) -> Iterator[Row]:
    """Rows of a folder in natural order of the recordings' names; its folders are not entered.

    A row's place is its text file; text loses the blank space around it.
    """
    contents = _look_into(name, faults)
    if contents.nested:
        warn(f"{name}: вложенные каталоги не читаются: {listed(contents.nested)}")
    if contents.hidden:
        warn(f"{name}: скрытые файлы не читаются: {listed(contents.hidden)}")
    instead = ""
    if contents.manifests:
        instead = f"; если манифест {listed(contents.manifests)}, укажите его вместо каталога"
    if not contents.recordings:
        if not faults.count:
            faults.add(None, f"в каталоге нет записей (.wav, .mp3, .flac и других){instead}")
        return
    pairing = _pair(contents.recordings, contents.references)
    for clash in pairing.clashes:
        faults.add(None, clash)
    if pairing.alone:
        number = counted(len(pairing.alone), "записи", "записей", "записей")
        example = f"рядом с {pairing.alone[0]} нужен {Path(pairing.alone[0]).stem}.txt"
        faults.add(None, f"нет текста у {number}: {listed(pairing.alone)}; {example}{instead}")
    if pairing.orphans:
        warn(f"{name}: есть текст, но нет записи: {listed(pairing.orphans)}")
    for recording, reference in pairing.pairs:
        place = str(Path(name, reference))
        try:
            text = read_text(place).strip()
        except ManifestError as error:
            faults.add_all(error)
        else:
            yield Row(place, recording, text, None, {})


class _Contents(NamedTuple):
    recordings: list[str]
    references: list[str]
    nested: list[str]
    hidden: list[str]
    manifests: list[str]


def _look_into(folder: str, faults: Faults) -> _Contents:
    found = _Contents([], [], [], [], [])
    try:
        entries = list(Path(folder).iterdir())
    except OSError as error:
        faults.add(None, describe_os_error(error))
        return found
    for entry in sorted(entries, key=lambda entry: _natural_key(entry.name)):
        name = entry.name
        suffix = Path("_" + name).suffix.lower()  # «_»: to pathlib «.wav» alone is no suffix
        is_ours = suffix in AUDIO_SUFFIXES or suffix == ".txt"
        if name.startswith("."):
            if is_ours:
                found.hidden.append(name)
            continue
        try:
            mode = entry.stat().st_mode
        except OSError as error:
            if is_ours:
                faults.add(str(entry), _describe_dead(entry, error))
            continue
        if stat.S_ISDIR(mode):
            found.nested.append(name)
        elif suffix in CSV_SUFFIXES or suffix in JSONL_SUFFIXES:
            found.manifests.append(name)
        elif is_ours and not stat.S_ISREG(mode):
            faults.add(str(entry), f"{kind(mode)}, а не обычный файл")
        elif is_ours:
            (found.references if suffix == ".txt" else found.recordings).append(name)
    return found


def _describe_dead(entry: Path, error: OSError) -> str:
    if error.errno == errno.ENOENT and entry.is_symlink():
        return "символическая ссылка ведёт к файлу, которого нет"
    return describe_os_error(error)


def _natural_key(name: str) -> tuple[list[str | int], str]:
    """«call 2» before «call 10»; the name itself parts those that differ in case alone."""
    parts: list[str | int] = list(re.split(r"(\d+)", name.casefold()))
    parts[1::2] = [int(digits) for digits in parts[1::2]]
    return parts, name


class _Pairing(NamedTuple):
    pairs: list[tuple[str, str]]
    alone: list[str]
    """Recordings without a text."""
    orphans: list[str]
    """Texts without a recording."""
    clashes: list[str]
    """Sentences about names that leave a choice."""


def _pair(recordings: Sequence[str], references: Sequence[str]) -> _Pairing:
    """Match recordings with texts by exact names, or in any case where that leaves no choice."""
    groups: dict[str, tuple[list[str], list[str]]] = {}
    for side, names in enumerate((recordings, references)):
        for name in names:
            stem = unicodedata.normalize("NFC", Path(name).stem).casefold()
            groups.setdefault(stem, ([], []))[side].append(name)
    pairing = _Pairing([], [], [], [])
    for sounds, texts in groups.values():
        if not texts:
            pairing.alone.extend(sounds)
        elif not sounds:
            pairing.orphans.extend(texts)
        elif len(sounds) == len(texts) == 1:
            pairing.pairs.append((sounds[0], texts[0]))
        elif exact := _pair_exactly(sounds, texts):
            pairing.pairs.extend(exact)
        elif len(texts) == 1:
            pairing.clashes.append(
                f"один текст {listed(texts)} у нескольких записей: {listed(sounds)}; "
                "оставьте одну запись или дайте каждой своё имя и свой текст"
            )
        else:
            pairing.clashes.append(
                f"непонятно, какой текст чей: {listed(sounds)} и {listed(texts)}; "
                "имена записи и её текста должны совпадать и быть одни такие без учёта регистра"
            )
    pairing.pairs.sort(key=lambda pair: _natural_key(pair[0]))
    return pairing


def _pair_exactly(sounds: Sequence[str], texts: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of equal names if every name is there once on each side; else none."""
    by_sound, by_text = ({Path(name).stem: name for name in names} for names in (sounds, texts))
    if by_sound.keys() != by_text.keys() or not len(by_sound) == len(sounds) == len(texts):
        return []
    return [(sound, by_text[stem]) for stem, sound in by_sound.items()]
