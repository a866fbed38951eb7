"""What is evaluated on: sources with their references, from two files or from a manifest."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from stt_ru.errors import ManifestError, UsageError
from stt_ru.files.reading import LINE_END, read_text
from stt_ru.manifest.recordings import Recordings
from stt_ru.simultaneous.core.instance import SpeechSource, TextSource

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from stt_ru.manifest import Sample
    from stt_ru.simultaneous.core.segments import DataType

MOST_FAULTS = 20  # of one file that are listed; the rest is a count


class Dataset(Protocol):
    """Sources with their references; each source is read when it is asked for."""

    @property
    def source_type(self) -> DataType:
        """What is read."""
        ...

    @property
    def fingerprint(self) -> str:
        """Equal for equal names of sources and equal references."""
        ...

    def __len__(self) -> int: ...

    def reference(self, index: int) -> str | None:
        """The reference of one source; None if it has none."""
        ...

    def name(self, index: int) -> str:
        """The text, or the path of the recording as it was given."""
        ...

    def load(self, index: int) -> TextSource | SpeechSource:
        """Read one source.

        Raises:
            AudioError: If the recording cannot be read.
        """
        ...


class TextDataset:
    """Texts with their translations or references.

    Args:
        sources: A text each.
        references: As many; None for none.

    Raises:
        UsageError: If the numbers differ.
    """

    source_type: DataType = "text"

    def __init__(self, sources: Sequence[str], references: Sequence[str] | None = None) -> None:
        _check_lengths(sources, references)
        self._sources = list(sources)
        self._references = None if references is None else list(references)
        self.fingerprint = _fingerprint(self._sources, self._references)

    def __len__(self) -> int:
        return len(self._sources)

    def reference(self, index: int) -> str | None:
        """The reference of one source."""
        return None if self._references is None else self._references[index].strip()

    def name(self, index: int) -> str:
        """The text."""
        return self._sources[index].strip()

    def load(self, index: int) -> TextSource:
        """The text in words."""
        return TextSource(self._sources[index])


@dataclass(frozen=True, slots=True)
class SpeechItem:
    """A recording, or one channel of it, and its reference.

    Attributes:
        name: As it was given.
        path: The file.
        reference: None when there is none.
        channel: From 0; None for the mean of all.
    """

    name: str
    path: Path
    reference: str | None = None
    channel: int | None = None


class SpeechDataset:
    """Recordings with their references.

    Args:
        items: In order.
        sample_rate: To which all are brought, Hz; None for each file's own.
    """

    source_type: DataType = "speech"

    def __init__(self, items: Sequence[SpeechItem], *, sample_rate: int | None = None) -> None:
        # An agent may change the current folder.
        self.items = [replace(item, path=item.path.absolute()) for item in items]
        self.sample_rate = sample_rate
        self.fingerprint = _fingerprint(
            [f"{item.name}#{item.channel}" for item in items],
            [item.reference or "" for item in items],
        )

    def __len__(self) -> int:
        return len(self.items)

    def reference(self, index: int) -> str | None:
        """The reference of one recording."""
        return self.items[index].reference

    def name(self, index: int) -> str:
        """The path as it was given."""
        return self.items[index].name

    def load(self, index: int) -> SpeechSource:
        """Decode a recording.

        Raises:
            AudioError: If it cannot be read or has no such channel.
        """
        item = self.items[index]
        samples, rate = _decode(item, self.sample_rate)
        return SpeechSource(item.name, samples, rate)


def _decode(item: SpeechItem, sample_rate: int | None) -> tuple[NDArray[np.float32], int]:
    from stt_ru.audio import load_audio, open_audio
    from stt_ru.audio.tracks import samples_of_row

    if sample_rate is None:
        with open_audio(item.path) as reader:
            sample_rate = reader.native_sample_rate
    audio = load_audio(item.path, sample_rate=sample_rate, mono=item.channel is None)
    samples, _ = samples_of_row(audio.waveform, item.channel)
    return samples, sample_rate


def check_sources(
    manifest: Path | None, source: Path | None, target: Path | None, source_type: DataType | None
) -> None:
    """Make sure that a user names data, and names them once.

    Raises:
        UsageError: If not.
    """
    if manifest is not None and (source is not None or target is not None):
        raise UsageError("укажите либо манифест, либо --source и --target")
    if manifest is None and source is None:
        raise UsageError("не указаны данные: манифест или --source и --target")
    if manifest is not None and source_type == "text":
        raise UsageError("--source-type text: в манифесте записи, а не тексты")


def load_dataset(
    manifest: Path | None,
    source: Path | None,
    target: Path | None,
    source_type: DataType,
    *,
    warn: Callable[[str], None],
    sample_rate: int | None = None,
) -> Dataset:
    """The data that a user names, see `check_sources`.

    Args:
        manifest: Instead of the two files.
        source: Lines of text or paths.
        target: Lines of references; None for none.
        source_type: What is in ``source``; a manifest has speech.
        warn: Told what is suspicious in the manifest.
        sample_rate: To which speech is brought, Hz; None for its own.

    Raises:
        UsageError: If a file cannot be read, or the files do not fit each other.
    """
    if manifest is not None:
        from stt_ru.manifest import load_manifest

        return dataset_of_samples(load_manifest(manifest, warn=warn), sample_rate=sample_rate)
    assert source is not None, "check_sources has let it through"
    return dataset_of_files(source, target, source_type, sample_rate=sample_rate)


def dataset_of_samples(
    samples: Sequence[Sample], *, sample_rate: int | None = None
) -> SpeechDataset:
    """The rows of a manifest as speech sources."""
    return SpeechDataset(
        [SpeechItem(sample.audio, sample.path, sample.text, sample.channel) for sample in samples],
        sample_rate=sample_rate,
    )


def dataset_of_files(
    source: Path, target: Path | None, source_type: DataType, *, sample_rate: int | None = None
) -> TextDataset | SpeechDataset:
    """Lines of two files as sources and references.

    Args:
        source: A text a line; of speech the path of a recording a line, relative to this file or to
            the current folder.
        target: A reference a line; None for none.
        source_type: What the lines of ``source`` are.
        sample_rate: As of `SpeechDataset`.

    Raises:
        UsageError: If a file cannot be read, a recording is missing, or the numbers of lines
            differ.
    """
    lines = _lines(source)
    if not lines:
        raise UsageError(f"{source}: файл пуст, а нужен источник в каждой строке")
    references = None if target is None else _lines(target)
    if references is not None and len(references) != len(lines):
        raise UsageError(
            f"в {source} строк: {len(lines)}, в {target}: {len(references)}, а нужно поровну"
        )
    if source_type == "text":
        return TextDataset(lines, references)
    paths = _find_recordings(source, lines)
    return SpeechDataset(
        [
            SpeechItem(line, path, None if references is None else references[i])
            for i, (line, path) in enumerate(zip(lines, paths, strict=True))
        ],
        sample_rate=sample_rate,
    )


def _lines(path: Path) -> list[str]:
    text = read_text(str(path))
    lines = LINE_END.split(text)
    if lines and not lines[-1]:
        lines.pop()  # after the last line break
    return [line.strip() for line in lines]


def _find_recordings(source: Path, lines: Sequence[str]) -> list[Path]:
    beside, here = Recordings(str(source.parent)), Recordings("")
    paths: list[Path] = []
    faults: list[str] = []
    for number, line in enumerate(lines, start=1):
        found = beside.find(line) or here.find(line) if line else None
        if found is None:
            why = beside.explain(line) if line else "строка пуста, а нужен путь к записи"
            faults.append(f"{source}:{number}: {why}")
        else:
            paths.append(found.path)
    if faults:
        more = len(faults) - MOST_FAULTS
        rest = [f"{source}: … и ещё таких строк: {more}"] if more > 0 else []
        raise ManifestError([*faults[:MOST_FAULTS], *rest])
    return paths


def _check_lengths(sources: Sequence[str], references: Sequence[str] | None) -> None:
    if references is not None and len(sources) != len(references):
        raise UsageError(f"источников {len(sources)}, эталонов {len(references)}, а нужно поровну")


def _fingerprint(sources: Sequence[str], references: Sequence[str] | None) -> str:
    digest = hashlib.sha256()
    for text in (*sources, "\0", *(references or ())):
        digest.update(text.encode("utf-8", "surrogatepass") + b"\n")
    return digest.hexdigest()[:16]
