"""When the words of each manifest row were spoken, from the best source available."""

from __future__ import annotations

import itertools
import threading
from typing import TYPE_CHECKING, Any, Final

from stt_ru.audio import SAMPLE_RATE
from stt_ru.audio.tracks import stem_of_row
from stt_ru.errors import ModelLoadError, UsageError, sentence_of
from stt_ru.streaming.timing.files import (
    WordTime,
    check_same_words,
    read_ctm,
    read_textgrid,
    timings_from_words,
    words_in_time,
)
from stt_ru.streaming.timing.timings import fill_word_timings_inplace
from stt_ru.streaming.timing.transcription import Token, Transcription

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from stt_ru.manifest import Sample
    from stt_ru.streaming.timing.ctc import CtcModel

_MARGIN_S: Final = 0.3  # audio added on both sides of an annotated segment


class ReferenceWords:
    """Timed reference words of the manifest rows; each row is timed only once.

    The sources, in order of preference: the row's own ``words``; a timing file; the row's
    ``segments`` (``[{start, end, text}]``), with the words aligned inside each segment; alignment
    over the whole recording.

    Args:
        samples: The rows.
        load_aligner: Loads the CTC model; called when the model is first needed.
        timings: A CTM file, or a folder of TextGrids named after the recordings; None for none.
        aligner: Name of the CTC model, for signatures.

    Attributes:
        sources: The source used for each row so far: «manifest», «file», «segments», «alignment».

    Raises:
        UsageError: If existing timings are invalid; before any model is loaded.
    """

    def __init__(
        self,
        samples: Sequence[Sample],
        load_aligner: Callable[[], CtcModel],
        timings: Path | None = None,
        *,
        aligner: str = "",
    ) -> None:
        self.aligner = aligner
        self._load_aligner = load_aligner
        self._aligner: CtcModel | None = None
        self._failure: str | None = None  # why the aligner did not load: it is tried only once
        self._lock = threading.Lock()
        self._known: dict[int, Transcription] = {}
        self.sources: dict[int, str] = {}
        files = {} if timings is None else _words_of_files(samples, timings)
        for row, sample in enumerate(samples):
            place = f"строка {row + 1} ({sample.audio})"
            if "words" in sample.extra:
                timed = timings_from_words(sample.extra["words"], place)
                self.sources[row] = "manifest"
            elif row in files:
                timed = words_in_time(files[row])
                self.sources[row] = "file"
            else:
                continue
            check_same_words(timed, sample.text, place)
            self._known[row] = timed

    def of(self, row: int, sample: Sample, waveform: NDArray[np.float32]) -> Transcription:
        """The timed words of a row.

        Raises:
            TimingError: If the words do not fit the recording.
            ModelLoadError: If the alignment model cannot be loaded.
        """
        with self._lock:
            timed = self._known.get(row)
            if timed is None:
                timed = self._aligned(row, sample, waveform)
                self._known[row] = timed
            return timed

    def known(self) -> dict[int, Transcription]:
        """The timed words of all rows timed so far."""
        return dict(self._known)

    def _aligned(self, row: int, sample: Sample, waveform: NDArray[np.float32]) -> Transcription:
        whole = Transcription.from_text(sample.text)
        if not whole.tokens:
            return whole
        aligner = self._loaded()
        segments = _segments(sample.extra.get("segments"), whole)
        if segments is None:
            self.sources[row] = "alignment"
            fill_word_timings_inplace(aligner, waveform, whole)
            return whole
        self.sources[row] = "segments"
        tokens: list[Token] = []
        for start_s, end_s, part in segments:
            first = max(0, round((start_s - _MARGIN_S) * SAMPLE_RATE))
            last = round((end_s + _MARGIN_S) * SAMPLE_RATE)
            fill_word_timings_inplace(aligner, waveform[first:last], part)
            for token in part.tokens:
                before = tokens[-1].end_time if tokens else 0.0
                token.start_time = max(token.start_time + first / SAMPLE_RATE, before)
                token.end_time = max(token.end_time + first / SAMPLE_RATE, token.start_time)
                tokens.append(token)
        return Transcription(tokens)

    def _loaded(self) -> CtcModel:
        if self._failure is not None:
            raise ModelLoadError(self._failure)
        if self._aligner is None:
            try:
                self._aligner = self._load_aligner()
            except Exception as error:
                self._failure = sentence_of(error)
                raise
        return self._aligner


def _segments(
    segments: object, whole: Transcription
) -> list[tuple[float, float, Transcription]] | None:
    """The row's segments, if it has any and their texts add up to the row's text."""
    if not isinstance(segments, list):
        return None
    found: list[tuple[float, float, Transcription]] = []
    for segment in segments:
        try:
            span = (float(segment["start"]), float(segment["end"]))
            part = Transcription.from_text(str(segment["text"]))
        except (KeyError, TypeError, ValueError):
            return None
        found.append((*span, part))
    words = [word for _, _, part in found for word in part.words]
    is_ordered = all(a[0] <= b[0] for a, b in itertools.pairwise(found))
    return found if words == whole.words and is_ordered else None


def _words_of_files(samples: Sequence[Sample], timings: Path) -> Mapping[int, list[WordTime]]:
    """Words of the rows found in a CTM file or a folder of TextGrids.

    Raises:
        UsageError: If there is no such file, or it has none of the rows.
    """
    found: dict[int, list[WordTime]] = {}
    if timings.is_dir():
        for row, sample in enumerate(samples):
            file = timings / f"{stem_of_row(sample.path.stem, sample.channel)}.TextGrid"
            if file.is_file():
                found[row] = read_textgrid(file)
        kind = "TextGrid"
    else:
        recordings: dict[str, Any] = read_ctm(timings)
        for row, sample in enumerate(samples):
            own = stem_of_row(sample.path.stem, sample.channel)
            names = (own, sample.audio, sample.path.name, sample.path.stem)
            known = next((name for name in names if name in recordings), None)
            if known is not None:
                found[row] = recordings[known]
        kind = "CTM"
    if not found:
        raise UsageError(f"--timings {timings}: ни одной записи манифеста нет в файлах {kind}")
    return found
