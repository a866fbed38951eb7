"""When each true word was said: by forced alignment, or as somebody has written it down.

Forced alignment finds the most probable way in which a CTC model reads the text off the audio
(Viterbi 1967; CTC of Graves et al. 2006). Its word ends are those of the model's frames: for most
models within 0.1 s of what a person hears.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
import soxr

from stt_ru.errors import ModelLoadError, SttRuError, UsageError
from stt_ru.normalize import normalize
from stt_ru.report.files import write_report
from stt_ru.streaming.history import words_to_json
from stt_ru.streaming.transcription import Token, Transcription, timed_transcription

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from stt_ru.manifest import Sample

SAMPLE_RATE: Final = 16_000

WINDOW_S: Final = 20.0  # of audio at a time, however long the recording is
CONTEXT_S: Final = 2.0  # heard on both sides of it as well, and thrown away

STATES: Final = 1536
"""States of the text followed at once: some 40 s of speech on both sides of the best one."""

_CHECKPOINT: Final = 256  # frames; the moves between two checkpoints are calculated again
_NEVER: Final = np.float32(-1e30)
_STRANGER: Final = -1.0  # log of what an unspeakable word costs a frame beside the best letter
# natural log: what an unspeakable word costs a frame beside the best letter
_SHORTEST_S: Final = 0.1  # the models' preprocessors fail on less


class TimingError(SttRuError):
    """It cannot be said when the words were spoken: the text does not fit the audio."""


class CtcModel(Protocol):
    """What forced alignment needs of a model."""

    @property
    def tokens(self) -> Mapping[str, int]:
        """What each piece of text is numbered; a space in it is a space between words."""
        ...

    @property
    def blank(self) -> int:
        """Number of the blank."""
        ...

    @property
    def frame_s(self) -> float:
        """Seconds of audio a frame."""
        ...

    def log_probs(self, waveform: NDArray[np.float32]) -> NDArray[np.float32]:
        """Natural logarithms of the tokens' probabilities, shape (frames, tokens); 16 kHz mono."""
        ...


class OnnxCtcModel:
    """A CTC model that onnx-asr has loaded.

    Args:
        asr: The ``asr`` of onnx-asr's adapter.

    Raises:
        ModelLoadError: If it is no CTC model.
    """

    def __init__(self, asr: Any) -> None:
        names = ("_preprocessor", "_encode", "_vocab", "_blank_idx", "_subsampling_factor")
        is_ctc = any("Ctc" in kind.__name__ for kind in type(asr).__mro__)
        if not is_ctc or not all(hasattr(asr, name) for name in names):
            raise ModelLoadError(
                f"модель {type(asr).__name__} – не CTC: время слов находит только CTC-модель, "
                "например tiny-ru или gigaam-v3-ctc"
            )
        self._asr = asr
        self._rate = int(asr._get_sample_rate())
        self._tokens = {
            str(token): int(number)
            for number, token in asr._vocab.items()
            if number != asr._blank_idx and not re.fullmatch(r"<.*>", token)
        }

    @property
    def tokens(self) -> Mapping[str, int]:
        """What each piece of text is numbered."""
        return self._tokens

    @property
    def blank(self) -> int:
        """Number of the blank."""
        return int(self._asr._blank_idx)

    @property
    def frame_s(self) -> float:
        """Seconds of audio a frame."""
        return float(self._asr.window_step) * int(self._asr._subsampling_factor)

    def log_probs(self, waveform: NDArray[np.float32]) -> NDArray[np.float32]:
        """Natural logarithms of the tokens' probabilities, shape (frames, tokens)."""
        if self._rate != SAMPLE_RATE:
            waveform = soxr.resample(waveform, SAMPLE_RATE, self._rate, quality="HQ")
        features = self._asr._preprocessor(
            waveform[None].astype(np.float32), np.array([len(waveform)], np.int64)
        )
        encoded, lengths = self._asr._encode(*features)
        found: NDArray[np.float32] = np.asarray(encoded[0][: int(lengths[0])], np.float32)
        return found


def ctc_model(model: object) -> CtcModel:
    """The CTC model inside a `stt_ru.Transcriber`, an adapter of onnx-asr, or itself.

    Raises:
        ModelLoadError: If there is none.
    """
    if hasattr(model, "log_probs"):
        found: CtcModel = model  # type: ignore[assignment]  # a Protocol of its own kind
        return found
    adapter = getattr(model, "_model", model)
    return OnnxCtcModel(getattr(adapter, "asr", adapter))


def load_ctc_model(name: str, folder: Path | None = None, *, offline: bool = False) -> CtcModel:
    """Load a CTC model of onnx-asr for alignment.

    Raises:
        UsageError: If there is no such name.
        ModelLoadError: If it cannot be loaded, or is no CTC model.
    """
    from stt_ru.onnx_models import load_model, providers_for

    loaded = load_model(
        name,
        folder=folder,
        quantization="int8",
        providers=providers_for("cpu"),
        intra_op_threads=1,
        offline=offline,
    )
    return ctc_model(loaded.adapter)


def fill_word_timings_inplace(
    model: object, waveform: NDArray[np.floating], transcription: Transcription
) -> None:
    """Find by forced alignment when each word was said, and write it into the tokens.

    Words with a character that the model does not know (figures, Latin letters) get the time
    between their neighbours and are marked ``is_interpolated``.

    Args:
        model: A CTC model: a `stt_ru.Transcriber`, an adapter of onnx-asr, or a `CtcModel`.
        waveform: Samples of one channel in [-1, 1], 16 kHz, of any length.
        transcription: Its words, normalised.

    Raises:
        ModelLoadError: If the model is no CTC model.
        TimingError: If the text does not fit the audio.
    """
    aligner = ctc_model(model)
    tokens = transcription.tokens
    if not tokens:
        return
    audio = np.asarray(waveform, np.float32)
    log_probs = log_probs_of(aligner, audio)
    spelled = [spell(token.value, aligner.tokens, is_first=not n) for n, token in enumerate(tokens)]
    spans = align_words(log_probs, spelled, aligner.blank, space=aligner.tokens.get(" "))
    duration_s = len(audio) / SAMPLE_RATE
    for token, (first, last), letters in zip(tokens, spans, spelled, strict=True):
        token.start_time = min(first * aligner.frame_s, duration_s)
        token.end_time = min((last + 1) * aligner.frame_s, duration_s)
        token.is_interpolated = letters is None
    _interpolate(tokens)


def _interpolate(tokens: Sequence[Token]) -> None:
    """Spread each run of unspeakable words between its neighbours, by their letters."""
    runs = itertools.groupby(range(len(tokens)), key=lambda n: tokens[n].is_interpolated)
    for is_unknown, numbers in runs:
        if not is_unknown:
            continue
        run = list(numbers)
        # At an edge of the recording, where the model heard something is the better guess.
        start_s = tokens[run[0] - 1].end_time if run[0] else tokens[run[0]].start_time
        after = run[-1] + 1
        end_s = tokens[after].start_time if after < len(tokens) else tokens[run[-1]].end_time
        letters = sum(len(tokens[n].value) for n in run)
        position = 0
        for n in run:
            tokens[n].start_time = start_s + (end_s - start_s) * position / letters
            position += len(tokens[n].value)
            tokens[n].end_time = start_s + (end_s - start_s) * position / letters


def log_probs_of(model: CtcModel, waveform: NDArray[np.float32]) -> NDArray[np.float32]:
    """Log-probabilities of a recording of any length, shape (frames, tokens), window by window."""
    hop = round(model.frame_s * SAMPLE_RATE)
    window, context = round(WINDOW_S / model.frame_s), round(CONTEXT_S / model.frame_s)
    n_frames = -(-len(waveform) // hop)
    pieces = []
    for first in range(0, max(1, n_frames), window):
        before = min(first, context)
        start, end = (first - before) * hop, (first + window + context) * hop
        piece = waveform[start:end]
        piece = np.pad(piece, (0, max(0, round(_SHORTEST_S * SAMPLE_RATE) - len(piece))))
        found = model.log_probs(piece)[before : before + window]
        pieces.append(found[: max(1, n_frames - first)])
    return np.concatenate(pieces)


def spell(word: str, tokens: Mapping[str, int], *, is_first: bool = False) -> list[int] | None:
    """The fewest tokens that write a word, the space before it included; None if none do.

    Args:
        word: A normalised word.
        tokens: Numbers of the pieces of text a model knows.
        is_first: Whether nothing stands before the word: then no space need be there.

    Example:
        >>> spell("да", {"д": 0, "а": 1, " ": 2})
        [2, 0, 1]
        >>> spell("да", {" да": 7, "д": 0, "а": 1, " ": 2})
        [7]
        >>> spell("да5", {"д": 0, "а": 1}) is None
        True
    """
    text = " " + word
    # A model without a space among its tokens divides words by itself.
    start = 0 if any(token.startswith(" ") for token in tokens) else 1
    longest = max(map(len, tokens), default=0)
    best: dict[int, list[int]] = {start: []}
    if is_first:
        best[1] = []
    for end in range(start + 1, len(text) + 1):
        for length in range(1, min(longest, end - start) + 1):
            number = tokens.get(text[end - length : end])
            before = best.get(end - length)
            if number is None or before is None:
                continue
            if end not in best or len(before) + 1 < len(best[end]):
                best[end] = [*before, number]
    return best.get(len(text))


def align_words(
    log_probs: NDArray[np.float32],
    words: Sequence[Sequence[int] | None],
    blank: int,
    *,
    space: int | None = None,
    states: int = STATES,
) -> list[tuple[int, int]]:
    """First and last frame of each word on the most probable path that reads all of them.

    Exact while all 2·L + 1 states of a text of L tokens are no more than ``states``; beyond that
    the path is followed in a window of so many states around the best one.

    Args:
        log_probs: Shape (frames, tokens), natural logarithms.
        words: Tokens of each word, a space before it included; None for a word that cannot be
            written, which may sound like anything.
        blank: Number of the blank.
        space: Number of the token that is only a space, if there is one.
        states: Width of the window.

    Raises:
        TimingError: If there are fewer frames than the text needs.
    """
    text = _States(log_probs, words, blank, space)
    n_frames = len(log_probs)
    if n_frames < text.shortest:
        raise TimingError(
            f"текст не помещается в запись: ему нужно не меньше {text.shortest} кадров модели, "
            f"а в записи их {n_frames}; похоже, это текст другой записи"
        )
    path = _best_path(text, n_frames, min(states, len(text.labels)))
    spans: list[tuple[int, int]] = []
    visited = text.word_of[path]
    frames_of = np.flatnonzero(visited >= 0)
    numbers = visited[frames_of]
    firsts = np.searchsorted(numbers, np.arange(len(words)), side="left")
    lasts = np.searchsorted(numbers, np.arange(len(words)), side="right") - 1
    for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True):
        if last < first:
            raise TimingError("текст не помещается в запись: для слова не нашлось места")
        spans.append((int(frames_of[first]), int(frames_of[last])))
    return spans


class _States:
    """The states of a text: its tokens in order, and a blank around each."""

    def __init__(
        self,
        log_probs: NDArray[np.float32],
        words: Sequence[Sequence[int] | None],
        blank: int,
        space: int | None,
    ) -> None:
        stranger = log_probs.shape[1]  # one more column: anything but a blank, at a price
        speech = np.delete(log_probs, blank, axis=1)
        anything = speech.max(axis=1, keepdims=True) + np.float32(_STRANGER)
        self.emissions = np.concatenate([log_probs, anything], axis=1)
        sequence: list[int] = []
        word_of: list[int] = []
        for number, tokens in enumerate(words):
            letters = [stranger] if tokens is None else list(tokens)
            for token in letters:
                sequence.append(token)
                word_of.append(-1 if token == space else number)  # a space is no part of a word
        labels = np.full(2 * len(sequence) + 1, blank, np.int64)
        labels[1::2] = sequence
        self.labels = labels
        self.word_of = np.full(len(labels), -1, np.int64)
        self.word_of[1::2] = word_of
        # A blank between two different tokens may be left out.
        self.may_skip = np.zeros(len(labels), bool)
        self.may_skip[3::2] = labels[3::2] != labels[1:-2:2]
        repeats = int(np.count_nonzero(labels[3::2] == labels[1:-2:2]))
        self.shortest = len(sequence) + repeats


def _best_path(text: _States, n_frames: int, width: int) -> NDArray[np.int64]:
    """State of each frame on the best path, by blocks of frames: memory stays flat."""
    starts = list(range(0, n_frames, _CHECKPOINT))
    saved: list[tuple[int, NDArray[np.float32]]] = []
    scores = np.full(width, _NEVER)
    first = 0
    for start in starts:
        saved.append((first, scores))
        first, scores, _ = _follow(text, first, scores, start, min(start + _CHECKPOINT, n_frames))
    n_states = len(text.labels)
    ends = [state for state in (n_states - 1, n_states - 2) if state >= first]
    reached = [state for state in ends if scores[state - first] > _NEVER / 2]
    if not reached:
        raise TimingError("текст не помещается в запись: до его конца путь не доходит")
    state = max(reached, key=lambda state: float(scores[state - first]))
    path = np.empty(n_frames, np.int64)
    for start, (first, scores) in zip(reversed(starts), reversed(saved), strict=True):
        end = min(start + _CHECKPOINT, n_frames)
        _, _, moves = _follow(text, first, scores, start, end)
        for frame in range(end - 1, start - 1, -1):
            path[frame] = state
            frame_first, row = moves[frame - start]
            state -= int(row[state - frame_first])
    return path


def _follow(
    text: _States, first: int, scores: NDArray[np.float32], start: int, end: int
) -> tuple[int, NDArray[np.float32], list[tuple[int, NDArray[np.uint8]]]]:
    """Scores of a window of states after some frames, and from where each state was entered.

    Returns:
        The first state of the window, its scores, and for each frame the first state and how many
        states back each one came from.
    """
    n_states, width = len(text.labels), len(scores)
    n_frames = len(text.emissions)
    moves: list[tuple[int, NDArray[np.uint8]]] = []
    for frame in range(start, end):
        if frame == 0:
            scores = np.full(width, _NEVER)
            scores[:2] = text.emissions[0, text.labels[:2]]
            moves.append((0, np.zeros(width, np.uint8)))
            continue
        if frame % 8 == 0 and width < n_states:
            # Centred on the best state, never back, and so that the end can still be reached.
            best = first + int(scores.argmax())
            needed = n_states - 2 - 2 * (n_frames - frame)
            moved = min(max(first, best - width // 2, needed), n_states - width)
            shift = moved - first
            if shift:
                beyond = np.full(min(shift, width), _NEVER)
                scores = np.concatenate([scores[shift:], beyond])
                first = moved
        window = slice(first, first + width)
        one = np.concatenate([[_NEVER], scores[:-1]])
        two = np.where(
            text.may_skip[window], np.concatenate([[_NEVER, _NEVER], scores[:-2]])[:width], _NEVER
        )
        entered = np.maximum(scores, one)
        move = (one > scores).astype(np.uint8)
        skips = two > entered
        move[skips] = 2
        scores = np.where(skips, two, entered) + text.emissions[frame, text.labels[window]]
        scores = np.maximum(scores, _NEVER).astype(np.float32)
        moves.append((first, move))
    return first, scores, moves


@dataclass(frozen=True, slots=True)
class WordTime:
    """A word of a file with times.

    Attributes:
        word: As written.
        start_s: Seconds of audio.
        end_s: Seconds of audio.
    """

    word: str
    start_s: float
    end_s: float


def timings_from_words(words: object, place: str) -> Transcription:
    """Words in time from a manifest's ``words``: ``[{word, start, end}, …]``, seconds.

    Args:
        words: The value of the field.
        place: Of the row, for messages.

    Raises:
        UsageError: If it is not such a list.
    """
    if isinstance(words, str):  # a CSV file has JSON in a cell
        try:
            words = json.loads(words)
        except ValueError as error:
            raise UsageError(f"{place}: words: это не JSON: {error}") from error
    if not isinstance(words, list):
        raise UsageError(f"{place}: words: нужен список {{word, start, end}}")
    values: list[str] = []
    times: list[tuple[float, float]] = []
    guessed: list[bool] = []
    for number, word in enumerate(words, start=1):
        try:
            values.append(str(word["word"]))
            times.append((float(word["start"]), float(word["end"])))
            guessed.append(bool(word.get("interpolated", False)))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UsageError(
                f"{place}: words: элемент {number}: нужно {{word, start, end}}, времена в секундах"
            ) from error
    try:
        transcription = timed_transcription(values, times)
    except UsageError as error:
        raise UsageError(f"{place}: words: {error}") from error
    marks = itertools.chain.from_iterable(
        [mark] * len(normalize(value).split()) for value, mark in zip(values, guessed, strict=True)
    )
    for token, mark in zip(transcription.tokens, marks, strict=True):
        token.is_interpolated = mark
    return transcription


def check_same_words(timed: Transcription, text: str, place: str) -> None:
    """Make sure that the words in time are those of the reference.

    Raises:
        UsageError: Naming the first that differs.
    """
    expected = normalize(text).split()
    for number, (word, token) in enumerate(itertools.zip_longest(expected, timed.words), start=1):
        if word != token:
            raise UsageError(
                f"{place}: слова с временами не те, что в text: слово {number} – "
                f"«{token or 'ничего'}», а в тексте «{word or 'ничего'}»"
            )


def read_ctm(path: Path) -> dict[str, list[WordTime]]:
    """Words of a CTM file (NIST): ``recording channel start duration word [confidence]``.

    Returns:
        For each recording its words in the order of time, seconds.

    Raises:
        UsageError: With file and line, if it cannot be read so.
    """
    found: dict[str, list[WordTime]] = {}
    for number, line in enumerate(_lines(path), start=1):
        fields = line.split()
        if not fields or fields[0].startswith(";;"):
            continue
        try:
            recording, _, start, duration, word = fields[:5]
            start_s, duration_s = float(start), float(duration)
        except ValueError as error:
            raise UsageError(
                f"{path}:{number}: нужно «запись канал начало длительность слово»"
            ) from error
        if not (0 <= start_s < math.inf and 0 <= duration_s < math.inf):
            raise UsageError(f"{path}:{number}: время {start} + {duration} невозможно")
        found.setdefault(recording, []).append(WordTime(word, start_s, start_s + duration_s))
    for words in found.values():
        words.sort(key=lambda word: (word.start_s, word.end_s))
    return found


_TEXTGRID_TIERS: Final = ("words", "word", "слова")


def read_textgrid(path: Path) -> list[WordTime]:
    """Words of a Praat TextGrid: its tier «words» («word», «слова»), or its only interval tier.

    Raises:
        UsageError: If there is no such tier, or the file cannot be read.
    """
    text = "\n".join(_lines(path))
    tiers: dict[str, list[WordTime]] = {}
    for block in re.split(r"(?m)^\s*item\s*\[\d+\]\s*:\s*$", text)[1:]:
        kind = re.search(r'class\s*=\s*"([^"]*)"', block)
        name = re.search(r'name\s*=\s*"((?:[^"]|"")*)"', block)
        if kind is None or kind[1] != "IntervalTier" or name is None:
            continue
        intervals = re.findall(
            r'xmin\s*=\s*(\S+)\s*\n\s*xmax\s*=\s*(\S+)\s*\n\s*text\s*=\s*"((?:[^"]|"")*)"', block
        )
        try:
            tiers[name[1]] = [
                WordTime(word.replace('""', '"').strip(), float(start), float(end))
                for start, end, word in intervals
                if word.strip()
            ]
        except ValueError as error:
            raise UsageError(f"{path}: слой «{name[1]}»: {error}") from error
    for name_ in _TEXTGRID_TIERS:
        for tier in tiers:
            if tier.lower() == name_:
                return tiers[tier]
    if len(tiers) == 1:
        return next(iter(tiers.values()))
    there = ", ".join(f"«{name}»" for name in tiers) or "ни одного"
    raise UsageError(f"{path}: нет слоя «words» с интервалами; есть {there}")


def _lines(path: Path) -> list[str]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: не читается: {os.strerror(error.errno or 0)}") from error
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return data.decode(encoding).splitlines()
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: это не UTF-8 и не UTF-16") from error


def words_in_time(words: Iterable[WordTime]) -> Transcription:
    """A transcription from words of a file.

    Raises:
        UsageError: If the times are impossible or disordered.
    """
    listed = list(words)
    return timed_transcription(
        [word.word for word in listed], [(word.start_s, word.end_s) for word in listed]
    )


def save_timings(path: Path, rows: Iterable[tuple[Sample, Transcription]]) -> None:
    """Write words in time as a JSON Lines manifest that can be measured with again.

    Raises:
        ReportError: If it cannot be written.
    """
    write_report(path, (_timed_row(path, sample, truth) for sample, truth in rows))


def _timed_row(path: Path, sample: Sample, truth: Transcription) -> str:
    audio = os.path.relpath(sample.path.resolve(), path.resolve().parent)
    row: dict[str, Any] = {"audio": audio, "text": sample.text}
    if sample.channel is not None:
        row["channel"] = sample.channel
    extra = {name: value for name, value in sample.extra.items() if name not in row}
    row = {**row, **extra, "words": words_to_json(truth)}
    return json.dumps(row, ensure_ascii=False) + "\n"
