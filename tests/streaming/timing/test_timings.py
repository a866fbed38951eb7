import math
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from stt_ru import Transcriber
from stt_ru.audio import load_audio
from stt_ru.errors import ModelLoadError
from stt_ru.streaming.timing.forced_alignment import TimingError
from stt_ru.streaming.timing.timings import fill_word_timings_inplace, log_probs_of
from stt_ru.streaming.timing.transcription import Transcription

LETTERS = "абвгдежзийклмнопрстуфхцчшщъыьэюя"
FRAME = 640  # samples, 40 ms


class ToneCtc:
    """A CTC model whose audio spells the text: the level of a frame is the index of a token."""

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
    """Audio made of frames, one per character: a letter, a space, or «_» for a blank."""
    numbers = [33 if f == "_" else ToneCtc.tokens[f] for f in "".join(frames)]
    return np.repeat(np.array(numbers, np.float32) / 40, FRAME)


def times(transcription: Transcription) -> list[tuple[str, int, int]]:
    """Words with their first frame and the frame after their last."""
    return [
        (token.value, round(token.start_time / 0.04), round(token.end_time / 0.04))
        for token in transcription.tokens
    ]


def test_words_are_found_where_they_were_spoken() -> None:
    transcription = Transcription.from_text("Мама мыла раму.")
    fill_word_timings_inplace(
        ToneCtc(), speech("__маамаа_", " мыла", "____", " ра_му__"), transcription
    )
    assert times(transcription) == [("мама", 2, 8), ("мыла", 10, 14), ("раму", 19, 24)]
    assert not any(token.is_interpolated for token in transcription.tokens)


def test_words_the_model_cannot_spell_are_placed_between_their_neighbours() -> None:
    transcription = Transcription.from_text("код 25 usb да")
    fill_word_timings_inplace(
        ToneCtc(), speech("_код_", " двапять_", " юэсби_", " да_"), transcription
    )
    (_, unknown_25, unknown_usb, yes) = transcription.tokens
    assert unknown_25.is_interpolated and unknown_usb.is_interpolated  # noqa: PT018
    assert not yes.is_interpolated
    assert times(transcription)[0] == ("код", 1, 4)
    assert times(transcription)[3][1] == 22
    assert unknown_25.start_time == pytest.approx(transcription.tokens[0].end_time)
    assert unknown_25.end_time == unknown_usb.start_time
    assert unknown_usb.end_time == pytest.approx(yes.start_time)


def test_an_unspellable_word_at_the_edge_is_placed_on_speech() -> None:
    transcription = Transcription.from_text("да 5")
    fill_word_timings_inplace(ToneCtc(), speech("_да___", "пять", "_" * 100), transcription)
    _, start, end = times(transcription)[1]
    assert 3 <= start <= 6
    assert end <= 11


def test_a_text_that_does_not_fit_is_an_error() -> None:
    transcription = Transcription.from_text("очень длинный текст совсем другой записи")
    with pytest.raises(TimingError, match="не помещается"):
        fill_word_timings_inplace(ToneCtc(), speech("_да_"), transcription)


def test_a_repeated_letter_needs_a_blank_between() -> None:
    with pytest.raises(TimingError, match="4 кадров"):
        fill_word_timings_inplace(ToneCtc(), speech("ваа"), Transcription.from_text("ваа"))


def test_a_transcription_without_words_is_accepted() -> None:
    fill_word_timings_inplace(ToneCtc(), speech("___"), Transcription([]))


def test_a_long_recording_is_recognised_in_windows_but_aligned_as_a_whole() -> None:
    generator = np.random.default_rng(1)
    words = ["".join(generator.choice(list(LETTERS), 5, replace=False)) for _ in range(700)]
    frames = "".join(f" {word}{'_' * int(generator.integers(0, 9))}" for word in words)
    model = ToneCtc()
    transcription = Transcription.from_text(" ".join(words))
    words = transcription.words
    fill_word_timings_inplace(model, speech(frames), transcription)
    assert model.longest <= 24.1 * 16_000
    position = 0
    for word, start, end in times(transcription):
        place = frames.index(" " + word, position) + 1
        assert abs(start - place) <= 1
        assert abs(end - place - len(word)) <= 1
        position = place


def test_joined_windows_equal_a_single_window() -> None:
    frames = speech("_раз два три четыре_" * 60)
    whole = ToneCtc().log_probs(frames)
    assert np.array_equal(log_probs_of(ToneCtc(), frames), whole)


def test_a_model_that_is_not_ctc_is_refused() -> None:
    class NemoConformerRnnt:
        pass

    with pytest.raises(ModelLoadError, match="не CTC"):
        fill_word_timings_inplace(NemoConformerRnnt(), speech("_"), Transcription.from_text("а"))


def test_a_transcriber_of_a_ctc_model_finds_the_words() -> None:
    demo = Path(__file__).parents[3] / "fixtures" / "demo" / "02-accept.wav"
    waveform = load_audio(demo, sample_rate=16_000, mono=True).waveform[0]
    model = Transcriber("tiny-ru", offline=True)
    transcription = Transcription.from_text(model.transcribe(demo).text)
    fill_word_timings_inplace(model, waveform, transcription)
    transcription.check_timed()
    assert transcription.tokens
    assert transcription.tokens[-1].end_time <= len(waveform) / 16_000
