"""`load_manifest`: whatever the manifest is, its rows with their recordings, or all its faults."""

from __future__ import annotations

import logging
import os
import stat
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from stt_ru.errors import ManifestError
from stt_ru.files.reading import CSV_SUFFIXES, JSONL_SUFFIXES, describe_os_error, kind, read_text
from stt_ru.files.wording import quoted, shown
from stt_ru.manifest.csv_rows import read_csv
from stt_ru.manifest.folder import read_folder
from stt_ru.manifest.jsonl_rows import read_jsonl
from stt_ru.manifest.recordings import AUDIO_SUFFIXES, Recording, Recordings
from stt_ru.manifest.rows import Faults, Row, UnreadMarks, text_fault
from stt_ru.manifest.sample import Sample
from stt_ru.text.normalize import normalize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

MOST_ALIKE: Final = 5  # warnings of one kind; the rest is a count

_FORMATS = "манифест: файл .csv, .tsv, .jsonl, .ndjson или каталог с записями"
_SPREADSHEETS = frozenset({".xls", ".xlsx", ".xlsm", ".ods", ".numbers"})

_logger = logging.getLogger(__name__)


def load_manifest(
    path: str | Path,
    *,
    allow_empty: bool = False,
    variants: bool = False,
    warn: Callable[[str], None] = _logger.warning,
) -> list[Sample]:
    """Samples of a manifest in its order; of a folder, in natural order of names.

    Every recording is looked up, none is opened. A manifest loads whole or not at all.

    Args:
        path: A file ``.csv``, ``.tsv``, ``.jsonl`` or ``.ndjson``, or a folder with recordings and
            a ``.txt`` beside each.
        allow_empty: Take rows whose text has no letter or digit as recordings without speech.
        variants: Check the marks of variants in the texts, «{тысяча|1000}», «{ну}» and «<*>», which
            `stt_ru.evaluation.evaluate` reads when it is told to.
        warn: Told what is suspicious but usable, one Russian sentence a call; the log by default.

    Raises:
        ManifestError: With all faults of the manifest, missing recordings included, each with its
            line; after twenty, with the count of the rest.
    """
    name = os.fspath(path)
    faults = Faults(name)
    mode = _mode(name)
    is_folder = stat.S_ISDIR(mode)
    rows = read_folder(name, faults, warn) if is_folder else _read_file(name, mode, faults)
    recordings = Recordings(name if is_folder else str(Path(name).parent))
    repeats = _Repeats(faults)
    unread = UnreadMarks()
    samples: list[Sample] = []
    for row in rows:
        recording = None
        if row.audio is not None:
            recording = recordings.find(row.audio)
            if recording is None:
                faults.add(row.place, partial(recordings.explain, row.audio))
        if row.text is not None:
            fault = text_fault(row.text, allow_empty=allow_empty, variants=variants)
            if fault is not None:
                faults.add(row.place, fault)
            if not variants:
                unread.see(faults.place(row.place), row.text)
        if row.audio is None or row.text is None or recording is None or faults.count:
            continue
        sample = Sample(row.audio, row.text, row.channel, row.extra, recording.path)
        samples.append(sample)
        repeats.see(row.place, sample, recording)
    if not samples and not faults.count:  # whatever else is empty has said so itself
        faults.add(None, "есть заголовок, но нет ни одной строки с записью")
    faults.raise_if_any()
    for warning in (*recordings.warnings(), *repeats.warnings(), *unread.warnings()):
        warn(warning)
    return samples


def _mode(name: str) -> int:
    if not name:
        raise ManifestError([f"манифест не указан; {_FORMATS}"])
    try:
        return Path(name).stat().st_mode
    except ValueError as error:  # NUL or half of a surrogate pair in the name
        raise ManifestError([f"{shown(name)}: недопустимое имя файла"]) from error
    except OSError as error:
        raise ManifestError([f"{name}: {describe_os_error(error)}; {_FORMATS}"]) from error


def _read_file(name: str, mode: int, faults: Faults) -> Iterable[Row]:
    """Rows of a manifest file, read lazily: their faults are noted as they are met.

    Raises:
        ManifestError: At once, if the file is of no kind that is read.
    """
    if not stat.S_ISREG(mode):  # before it is opened: a FIFO would hang
        raise ManifestError([f"{name}: {kind(mode)}, а не обычный файл; {_FORMATS}"])
    suffix = Path(name).suffix.lower()
    if suffix in CSV_SUFFIXES:
        return read_csv(read_text(name), faults)
    if suffix in JSONL_SUFFIXES:
        return read_jsonl(read_text(name), faults)
    raise ManifestError([f"{name}: {_describe_suffix(suffix)}; {_FORMATS}"])


def _describe_suffix(suffix: str) -> str:
    if not suffix:
        return "по имени без суффикса нельзя понять, что в файле"
    if suffix in AUDIO_SUFFIXES:
        return "это запись, а не манифест"
    if suffix in _SPREADSHEETS:
        return "электронные таблицы не читаются: сохраните лист как «CSV UTF-8»"
    if suffix == ".json":
        return "из JSON читается JSON Lines: по одному объекту в строке, файл .jsonl"
    return f"файлы {quoted(suffix)} не читаются"


class _Repeats:
    """Rows of one recording and channel: the same text again, or another one."""

    def __init__(self, faults: Faults) -> None:
        self._place = faults.place
        self._first: dict[object, tuple[int | str, str]] = {}
        self._texts: dict[object, dict[str, int | str]] = {}
        self._same: list[str] = []
        self._other: list[str] = []
        self._n_same = self._n_other = 0

    def see(self, place: int | str, sample: Sample, recording: Recording) -> None:
        key = (recording.identity, sample.channel)
        first_place, first_text = self._first.setdefault(key, (place, sample.text))
        if first_place == place:
            return
        texts = self._texts.setdefault(key, {normalize(first_text): first_place})
        earlier = texts.setdefault(normalize(sample.text), place)
        what = quoted(sample.audio)
        if sample.channel is not None:
            what += f" (канал {sample.channel})"
        if earlier != place:
            self._n_same += 1
            if self._n_same <= MOST_ALIKE:
                self._same.append(
                    f"{self._place(place)}: запись {what} с тем же текстом уже есть "
                    f"({_beside(earlier)}); она войдёт в оценку дважды"
                )
        else:
            self._n_other += 1
            if self._n_other <= MOST_ALIKE:
                self._other.append(
                    f"{self._place(place)}: у записи {what} уже есть другой текст "
                    f"({_beside(first_place)}); распознанное сравнивается с каждым из них целиком"
                )

    def warnings(self) -> Iterator[str]:
        yield from self._same
        if self._n_same > MOST_ALIKE:
            yield f"{self._place(None)}: … и ещё повторов: {self._n_same - MOST_ALIKE}"
        yield from self._other
        if self._n_other > MOST_ALIKE:
            yield f"{self._place(None)}: … и ещё других текстов: {self._n_other - MOST_ALIKE}"


def _beside(place: int | str) -> str:
    return f"строка {place}" if isinstance(place, int) else place
