import itertools
import json
import math
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from stt_ru.errors import ModelLoadError, UsageError
from stt_ru.manifest import Sample, load_manifest
from stt_ru.streaming.timings import (
    TimingError,
    align_words,
    check_same_words,
    fill_word_timings_inplace,
    log_probs_of,
    read_ctm,
    read_textgrid,
    save_timings,
    spell,
    timings_from_words,
    words_in_time,
)
from stt_ru.streaming.transcription import Transcription, timed_transcription

from .fakes import PATIENT

LETTERS = "абвгдежзийклмнопрстуфхцчшщъыьэюя"
FRAME = 640  # samples, 40 ms


class ToneCtc:
    """A CTC model whose audio spells its text: the level of a frame is the number of the token."""

    tokens: ClassVar = {" ": 0, **{letter: n for n, letter in enumerate(LETTERS, start=1)}}
    blank = 33
    frame_s = FRAME / 16_000

    def __init__(self) -> None:
        self.longest = 0

    def log_probs(self, waveform: NDArray[np.float32]) -> NDArray[np.float32]:
        self.longest = max(self.longest, len(waveform))
        levels = waveform[: len(waveform) // FRAME * FRAME].reshape(-1, FRAME).mean(axis=1)
        numbers = np.rint(levels * 40).astype(int)
        found = np.full((len(numbers), 34), math.log(0.001), np.float32)
        found[np.arange(len(numbers)), numbers] = math.log(0.967)
        return found


def speech(*frames: str) -> NDArray[np.float32]:
    """Audio of frames: a letter, « » or «_» for a blank; each text in a row."""
    numbers = [33 if f == "_" else ToneCtc.tokens[f] for f in "".join(frames)]
    return np.repeat(np.array(numbers, np.float32) / 40, FRAME)


def times(transcription: Transcription) -> list[tuple[str, int, int]]:
    """Words with their first frame and the one after the last."""
    return [
        (token.value, round(token.start_time / 0.04), round(token.end_time / 0.04))
        for token in transcription.tokens
    ]


def test_words_are_found_where_they_were_said() -> None:
    truth = Transcription.from_text("Мама мыла раму.")
    fill_word_timings_inplace(ToneCtc(), speech("__маамаа_", " мыла", "____", " ра_му__"), truth)
    assert times(truth) == [("мама", 2, 8), ("мыла", 10, 14), ("раму", 19, 24)]
    assert not any(token.is_interpolated for token in truth.tokens)


def test_words_the_model_cannot_spell_lie_between_their_neighbours() -> None:
    truth = Transcription.from_text("код 25 usb да")
    fill_word_timings_inplace(ToneCtc(), speech("_код_", " двапять_", " юэсби_", " да_"), truth)
    (_, unknown_25, unknown_usb, yes) = truth.tokens
    assert unknown_25.is_interpolated and unknown_usb.is_interpolated  # noqa: PT018
    assert not yes.is_interpolated
    assert times(truth)[0] == ("код", 1, 4)
    assert times(truth)[3][1] == 22
    assert unknown_25.start_time == pytest.approx(truth.tokens[0].end_time)
    assert unknown_25.end_time == unknown_usb.start_time
    assert unknown_usb.end_time == pytest.approx(yes.start_time)


def test_an_unspeakable_word_at_the_edge_is_where_something_was_heard() -> None:
    truth = Transcription.from_text("да 5")
    fill_word_timings_inplace(ToneCtc(), speech("_да___", "пять", "_" * 100), truth)
    _, start, end = times(truth)[1]
    assert 3 <= start <= 6
    assert end <= 11


def test_a_text_that_does_not_fit_is_an_error() -> None:
    truth = Transcription.from_text("очень длинный текст совсем другой записи")
    with pytest.raises(TimingError, match="не помещается"):
        fill_word_timings_inplace(ToneCtc(), speech("_да_"), truth)


def test_a_repeated_letter_needs_a_blank_between() -> None:
    with pytest.raises(TimingError, match="4 кадров"):
        fill_word_timings_inplace(ToneCtc(), speech("ваа"), Transcription.from_text("ваа"))


def test_no_words_need_no_times() -> None:
    fill_word_timings_inplace(ToneCtc(), speech("___"), Transcription([]))


def test_a_long_recording_is_heard_in_windows_and_followed_in_one() -> None:
    generator = np.random.default_rng(1)
    words = ["".join(generator.choice(list(LETTERS), 5, replace=False)) for _ in range(700)]
    frames = "".join(f" {word}{'_' * int(generator.integers(0, 9))}" for word in words)
    model = ToneCtc()
    truth = Transcription.from_text(" ".join(words))
    words = truth.words
    fill_word_timings_inplace(model, speech(frames), truth)
    assert model.longest <= 24.1 * 16_000
    position = 0
    for word, start, end in times(truth):
        place = frames.index(" " + word, position) + 1
        assert abs(start - place) <= 1
        assert abs(end - place - len(word)) <= 1
        position = place


def test_windows_join_to_what_one_window_gives() -> None:
    frames = speech("_раз два три четыре_" * 60)
    whole = ToneCtc().log_probs(frames)
    assert np.array_equal(log_probs_of(ToneCtc(), frames), whole)


def slow_score(log_probs: NDArray[np.float32], tokens: list[int], blank: int) -> float:
    """The twin: the best of all paths that read the tokens, one by one."""
    best = -math.inf
    for path in itertools.product(range(log_probs.shape[1]), repeat=len(log_probs)):
        read = [t for n, t in enumerate(path) if (not n or t != path[n - 1]) and t != blank]
        if read == tokens:
            best = max(best, sum(float(log_probs[n, t]) for n, t in enumerate(path)))
    return best


@PATIENT
@given(
    st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=2), min_size=1, max_size=2),
    st.integers(1, 6),
    st.integers(0, 2**31),
)
def test_the_path_is_the_best_of_all(words: list[list[int]], frames: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    log_probs = np.log(generator.dirichlet([1, 1, 1], frames)).astype(np.float32)
    tokens = [token for word in words for token in word]
    expected = slow_score(log_probs, tokens, 2)
    if expected == -math.inf:
        with pytest.raises(TimingError):
            align_words(log_probs, words, 2)
        return
    spans = align_words(log_probs, words, 2)
    # The best score of a path with the words at these frames is the best score.
    best = -math.inf
    for path in itertools.product(range(3), repeat=frames):
        groups = itertools.groupby(enumerate(path), key=lambda place: place[1])
        runs = [(token, [n for n, _ in group]) for token, group in groups]
        spoken = [(t, group) for t, group in runs if t != 2]
        if [t for t, _ in spoken] != tokens:
            continue
        found, position = [], 0
        for word in words:
            of_word = spoken[position : position + len(word)]
            found.append((of_word[0][1][0], of_word[-1][1][-1]))
            position += len(word)
        if found == spans:
            best = max(best, sum(float(log_probs[n, t]) for n, t in enumerate(path)))
    assert best == pytest.approx(expected, abs=1e-4)


def test_a_narrow_window_follows_the_same_path() -> None:
    generator = np.random.default_rng(5)
    words = [list(map(int, generator.integers(1, 20, 4))) for _ in range(80)]
    path = []
    for word in words:
        for token in word:
            path += [token, 33] + [33] * int(generator.integers(0, 3))
    log_probs = np.full((len(path), 34), math.log(0.01), np.float32)
    log_probs[np.arange(len(path)), path] = math.log(0.7)
    assert align_words(log_probs, words, 33, states=64) == align_words(log_probs, words, 33)


@pytest.mark.parametrize(
    ("word", "tokens", "is_first", "expected"),
    [
        pytest.param("да", {"д": 0, "а": 1, " ": 2}, False, [2, 0, 1], id="letters"),
        pytest.param("да", {"д": 0, "а": 1, " ": 2}, True, [0, 1], id="the first word"),
        pytest.param("да", {"д": 0, "а": 1}, False, [0, 1], id="no space"),
        pytest.param("дай", {" да": 3, "й": 4, " д": 5, "а": 6}, False, [3, 4], id="pieces"),
        pytest.param("да", {" да": 3, "д": 0, "а": 1}, True, [3], id="pieces, first"),
        pytest.param("ok", {"д": 0}, False, None, id="unknown"),
    ],
)
def test_spelling(
    word: str, tokens: dict[str, int], is_first: bool, expected: list[int] | None
) -> None:
    assert spell(word, tokens, is_first=is_first) == expected


def test_a_model_that_is_no_ctc_model_is_refused() -> None:
    class NemoConformerRnnt:
        pass

    with pytest.raises(ModelLoadError, match="не CTC"):
        fill_word_timings_inplace(NemoConformerRnnt(), speech("_"), Transcription.from_text("а"))


def test_times_from_a_manifest() -> None:
    rows = [
        {"word": "Кто-то", "start": 0, "end": 0.5},
        {"word": "5", "start": 0.6, "end": 1, "interpolated": True},
    ]
    truth = timings_from_words(rows, "m.jsonl:1")
    assert truth.words == ["кто", "то", "5"]
    assert [t.is_interpolated for t in truth.tokens] == [False, False, True]
    assert timings_from_words(json.dumps(rows), "m.csv:2").words == truth.words


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param({}, "нужен список", id="no list"),
        pytest.param("[", "не JSON", id="no json"),
        pytest.param([{"word": "а", "start": 1}], "элемент 1", id="no end"),
        pytest.param([{"word": "а", "start": 2, "end": 1}], "невозможно", id="backwards"),
        pytest.param(["а"], "элемент 1", id="no object"),
    ],
)
def test_bad_times_in_a_manifest_are_refused(words: object, message: str) -> None:
    with pytest.raises(UsageError, match=f"m:1: words: .*{message}"):
        timings_from_words(words, "m:1")


def test_other_words_than_the_reference_are_refused() -> None:
    timed = timed_transcription(["раз", "два"], [(0, 1), (1, 2)])
    check_same_words(timed, "Раз, два!", "m:1")
    with pytest.raises(UsageError, match="слово 2 – «два», а в тексте «три»"):
        check_same_words(timed, "раз три", "m:1")
    with pytest.raises(UsageError, match="слово 3 – «ничего»"):
        check_same_words(timed, "раз два три", "m:1")


def test_ctm(tmp_path: Path) -> None:
    file = tmp_path / "a.ctm"
    file.write_text(";; comment\ncall 1 0.50 0.25 два 0.9\ncall 1 0.1 0.2 раз\nb A 0 1 x\n")
    words = read_ctm(file)
    truth = words_in_time(words["call"])
    assert [(t.value, t.start_time, t.end_time) for t in truth.tokens] == [
        ("раз", 0.1, pytest.approx(0.3)),
        ("два", 0.5, 0.75),
    ]
    file.write_text("call 1 0.1\n")
    with pytest.raises(UsageError, match=r"a.ctm:1"):
        read_ctm(file)


TEXTGRID = """File type = "ooTextFile"
Object class = "TextGrid"

xmin = 0
xmax = 2
tiers? <exists>
size = 2
item []:
    item [1]:
        class = "IntervalTier"
        name = "phones"
        xmin = 0
        xmax = 2
        intervals: size = 1
        intervals [1]:
            xmin = 0
            xmax = 2
            text = "r"
    item [2]:
        class = "IntervalTier"
        name = "Words"
        xmin = 0
        xmax = 2
        intervals: size = 3
        intervals [1]:
            xmin = 0
            xmax = 0.3
            text = ""
        intervals [2]:
            xmin = 0.3
            xmax = 0.9
            text = "раз"
        intervals [3]:
            xmin = 0.9
            xmax = 2
            text = "так ""называемый"" день"
"""


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_textgrid(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "a.TextGrid"
    file.write_text(TEXTGRID, encoding=encoding)
    truth = words_in_time(read_textgrid(file))
    assert truth.words == ["раз", "так", "называемый", "день"]
    assert truth.tokens[0].end_time == 0.9
    file.write_text(TEXTGRID.replace("Words", "other"))
    with pytest.raises(UsageError, match="«phones», «other»"):
        read_textgrid(file)


def test_saved_times_are_a_manifest(tmp_path: Path) -> None:
    audio = tmp_path / "calls" / "a.wav"
    audio.parent.mkdir()
    audio.write_bytes(b"")
    sample = Sample("a.wav", "Раз, два", 1, {"speaker": "x"}, audio)
    truth = timed_transcription(["раз", "два"], [(0.1, 0.2), (0.3, 0.51234567)])
    target = tmp_path / "timed.jsonl"
    save_timings(target, [(sample, truth)])
    (again,) = load_manifest(target)
    assert (again.text, again.channel, again.extra["speaker"]) == ("Раз, два", 1, "x")
    assert again.path.resolve() == audio.resolve()
    loaded = timings_from_words(again.extra["words"], "timed.jsonl:1")
    assert [(t.value, t.end_time) for t in loaded.tokens] == [("раз", 0.2), ("два", 0.5123)]
