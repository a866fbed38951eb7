"""What a delay is: reading and writing of one instance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stt_ru.simultaneous.core.instance import Instance, OutputError, SpeechSource, TextSource
from stt_ru.simultaneous.core.segments import EmptySegment, SpeechSegment, TextSegment
from tests.fakes import FakeClock


def text_instance(text: str = "а б в", **more: object) -> Instance:
    return Instance(0, TextSource(text), "x y", **more)  # type: ignore[arg-type]  # keywords


def speech_instance(samples: int = 16_000, rate: int = 16_000, **more: object) -> Instance:
    source = SpeechSource("a.wav", np.zeros(samples, np.float32), rate)
    return Instance(0, source, "x y", **more)  # type: ignore[arg-type]  # keywords


def test_text_goes_out_a_word_at_a_time_and_the_last_one_says_so() -> None:
    instance = text_instance()

    sent = [instance.send_source(1) for _ in range(4)]

    assert [segment.content for segment in sent[:3]] == ["а", "б", "в"]
    assert [segment.finished for segment in sent] == [False, False, True, True]
    assert [segment.is_empty for segment in sent] == [False, False, False, True]


def test_a_delay_of_text_is_the_number_of_words_read() -> None:
    instance = text_instance()
    instance.send_source(2)
    instance.receive_prediction(TextSegment(content="раз  два"))
    instance.send_source(2)
    instance.receive_prediction(TextSegment(content="три", finished=True))

    assert instance.delays == [2, 2, 3]
    assert instance.prediction == "раз два три"
    assert instance.finish_prediction


def test_a_delay_of_speech_is_milliseconds_of_audio_and_elapsed_adds_wall_time() -> None:
    clock = FakeClock()
    instance = speech_instance(8_000 + 37, rate=8_000, clock=clock)
    clock.advance(100)  # before the first read nothing counts
    instance.send_source(250)
    clock.advance(0.05)
    instance.receive_prediction(TextSegment(content="раз"))
    instance.send_source(250)
    clock.advance(0.1)
    instance.receive_prediction(TextSegment(content="два"))
    instance.send_source(10_000)
    instance.receive_prediction(TextSegment(content="три", finished=True))

    assert instance.delays == [250, 500, instance.source_length]
    assert instance.source_length == 1004.625
    assert instance.elapsed == pytest.approx([300, 650, 1154.625])


def test_elapsed_of_text_is_wall_time_alone() -> None:
    clock = FakeClock()
    instance = text_instance(clock=clock)
    instance.send_source(1)
    clock.advance(0.25)
    instance.receive_prediction(TextSegment(content="раз"))

    assert instance.elapsed == [250]


def test_what_is_written_before_the_first_read_has_no_delay() -> None:
    instance = speech_instance()
    instance.receive_prediction(TextSegment(content="раз"))

    assert (instance.delays, instance.elapsed) == ([0], [0])


def test_speech_comes_at_the_files_own_rate() -> None:
    segment = speech_instance(8_000, rate=8_000).send_source(10)

    assert isinstance(segment, SpeechSegment)
    assert (len(segment.content), segment.sample_rate) == (80, 8_000)


def test_characters_have_a_delay_each_and_spaces_none() -> None:
    instance = text_instance(latency_unit="char")
    instance.send_source(1)
    instance.receive_prediction(TextSegment(content="аб в"))

    assert instance.delays == [1, 1, 1]
    assert instance.prediction == "аб в"
    assert instance.reference_length == 2


def test_the_end_mark_ends_a_text_and_is_no_word() -> None:
    instance = text_instance()
    instance.send_source(1)
    instance.receive_prediction(TextSegment(content="раз </s>"))

    assert instance.prediction == "раз"
    assert instance.finish_prediction
    with pytest.raises(OutputError, match="закончен"):
        instance.receive_prediction(TextSegment(content="два"))


def test_words_after_the_end_mark_are_refused_whole() -> None:
    instance = text_instance()
    with pytest.raises(OutputError, match="два"):
        instance.receive_prediction(TextSegment(content="раз </s> два"))

    assert instance.prediction == ""


def test_an_empty_text_is_finished_at_once() -> None:
    segment = text_instance("  ").send_source(1)

    assert (segment.is_empty, segment.finished) == (True, True)


def test_speech_written_is_heard_with_its_silences() -> None:
    instance = speech_instance(target_type="speech")
    instance.send_source(100)
    instance.receive_prediction(SpeechSegment(content=[0.5] * 1600, sample_rate=16_000))
    instance.send_source(50)  # the first chunk still sounds
    instance.receive_prediction(SpeechSegment(content=[0.25] * 800, sample_rate=16_000))
    instance.send_source(850)
    instance.receive_prediction(
        SpeechSegment(content=[0.125] * 800, sample_rate=16_000, finished=True)
    )
    samples, rate = instance.heard_speech()

    assert instance.delays == [100, 150, 1000]
    assert instance.durations == (100, 50, 50)
    assert rate == 16_000
    assert len(samples) == 16_800
    assert [samples[0], samples[1600], samples[3200], samples[4000], samples[16_000]] == [
        0, 0.5, 0.25, 0, 0.125,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("segment", "reason"),
    [
        (TextSegment(content="раз"), "текст"),
        (SpeechSegment(content=[0.1], sample_rate=-1), "частот"),
    ],
)
def test_output_of_the_wrong_kind_is_refused(segment: TextSegment, reason: str) -> None:
    with pytest.raises(OutputError, match=reason):
        speech_instance(target_type="speech").receive_prediction(segment)


@settings(deadline=None)
@given(st.lists(st.integers(1, 400), min_size=1, max_size=40), st.integers(1, 20_000))
def test_the_pieces_sent_are_the_whole_source_and_delays_never_fall(
    sizes: list[int], n_samples: int
) -> None:
    samples = np.arange(n_samples, dtype=np.float32)
    instance = Instance(0, SpeechSource("a", samples, 8_000), None)
    received: list[float] = []
    for size in sizes:
        segment = instance.send_source(size)
        received += segment.content or [] if not isinstance(segment, EmptySegment) else []
        instance.receive_prediction(TextSegment(content="слово"))

    assert received == samples[: len(received)].tolist()
    assert instance.delays == sorted(instance.delays)
    assert instance.delays[-1] == len(received) / 8
    assert instance.source_finished == (len(received) == n_samples)
