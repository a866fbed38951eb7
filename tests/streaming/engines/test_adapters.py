import gc
from pathlib import Path

import numpy as np
import pytest
import soundfile
from numpy.typing import NDArray

from stt_ru import Transcriber
from stt_ru.audio import load_audio
from stt_ru.errors import AudioError, StreamingError, UsageError
from stt_ru.recognition.recognizer import Recognizer, Transcript
from stt_ru.streaming.engines.adapters import LONGEST_TAIL_S, OfflineToStreaming
from stt_ru.streaming.engines.model import DummyASR
from stt_ru.streaming.queue.chunks import (
    OutputChunk,
    Signal,
    TranscriptionChunk,
    check_consistency,
)
from stt_ru.streaming.run.whole_recordings import StreamingToOffline
from stt_ru.streaming.schedule.caller import receive_transcription
from stt_ru.streaming.schedule.sender import make_sender
from tests.streaming.fakes import PATIENCE_S, syllables, tone


class ToneCounter:
    """Recognises each uninterrupted tone as a word: its length in tenths of a second."""

    name = "tones"
    settings = {"lang": "ru"}  # noqa: RUF012 - never changed

    def __init__(self) -> None:
        self.lengths_s: list[float] = []  # of the audio recognised, one per call

    def transcribe(self, path: str | Path) -> Transcript:
        return self._hear(*soundfile.read(path))

    def _hear(self, samples: NDArray[np.floating], rate: int) -> Transcript:
        self.lengths_s.append(len(samples) / rate)
        loud = np.abs(samples[: len(samples) // 160 * 160]).reshape(-1, 160).max(axis=1) > 0.1
        edges = np.flatnonzero(np.diff(np.concatenate([[False], loud, [False]]).astype(int)))
        lengths = [round((b - a) / 10) for a, b in zip(edges[::2], edges[1::2], strict=True)]
        return Transcript.from_text(" ".join(f"т{n}" for n in lengths if n), len(samples) / rate)


class InMemory(ToneCounter):
    """The same, but from samples; being given a file is an error."""

    def transcribe(self, path: str | Path) -> Transcript:
        raise AssertionError(f"{path} was written")

    def transcribe_waveform(
        self, samples: NDArray[np.float32], sampling_rate: int = 16_000
    ) -> Transcript:
        return self._hear(samples, sampling_rate)


def silence(seconds: float) -> NDArray[np.float32]:
    return np.zeros(round(seconds * 16_000), np.float32)


def stream(
    recognizer: Recognizer, audio: NDArray[np.float32], interval: float = 0.5
) -> list[OutputChunk]:
    asr = OfflineToStreaming(recognizer, interval)
    asr.start_thread()
    _, sender = make_sender(audio, asr)
    sender.start_sending(without_delays=True)
    outputs = list(receive_transcription(asr, sender.id, PATIENCE_S))
    check_consistency(sender.join_and_get_history(PATIENCE_S), outputs)
    asr.stop_thread()
    return outputs


PHRASES = np.concatenate(
    [
        piece
        for n in range(1, 13)
        for piece in (tone(0.3 + 0.1 * n), silence(0.25 if n % 3 else 1.3))
    ]
)
EXPECTED = " ".join(f"т{3 + n}" for n in range(1, 13))


def test_the_text_grows_to_that_of_the_whole_recording() -> None:
    outputs = stream(ToneCounter(), PHRASES)
    assert TranscriptionChunk.join(outputs) == EXPECTED
    assert len(outputs) > 20
    assert TranscriptionChunk.join(outputs[:4]).startswith("т4")


def test_a_step_costs_the_same_however_long_the_recording_is() -> None:
    recognizer = ToneCounter()
    outputs = stream(recognizer, np.concatenate([PHRASES] * 5))
    assert TranscriptionChunk.join(outputs) == " ".join([EXPECTED] * 5)
    assert max(recognizer.lengths_s) <= LONGEST_TAIL_S + 0.5


def test_speech_without_pauses_is_also_cut() -> None:
    recognizer = ToneCounter()
    audio = np.concatenate([piece for _ in range(90) for piece in (tone(0.4), silence(0.1))])
    outputs = stream(recognizer, audio)
    assert max(recognizer.lengths_s) <= LONGEST_TAIL_S + 0.5
    assert TranscriptionChunk.join(outputs) == " ".join(["т4"] * 90)


def test_silence_is_dropped() -> None:
    recognizer = ToneCounter()
    assert TranscriptionChunk.join(stream(recognizer, silence(20))) == ""
    assert not recognizer.lengths_s


def test_an_empty_recording_gives_only_the_finish_signal() -> None:
    recognizer = ToneCounter()
    assert len(stream(recognizer, silence(0))) == 1
    assert not recognizer.lengths_s


def test_settings_describe_the_streaming() -> None:
    settings = OfflineToStreaming(ToneCounter(), 0.25).settings
    assert settings["lang"] == "ru"
    assert settings["stream"].startswith("offline(interval=0.25s,")


@pytest.mark.parametrize("interval", [0, -1, float("nan"), float("inf")])
def test_an_interval_must_be_positive(interval: float) -> None:
    with pytest.raises(UsageError):
        OfflineToStreaming(ToneCounter(), interval)


def test_a_recogniser_that_takes_samples_gives_the_same_text_without_files() -> None:
    by_file, in_memory = ToneCounter(), InMemory()
    texts = [
        [chunk.data.text for chunk in outputs if isinstance(chunk.data, TranscriptionChunk)]
        for outputs in (stream(by_file, PHRASES), stream(in_memory, PHRASES))
    ]
    assert texts[0] == texts[1]
    assert by_file.lengths_s == in_memory.lengths_s


def test_an_answer_that_is_not_a_transcript_fails_with_the_methods_name() -> None:
    class Text(ToneCounter):
        def transcribe(self, path: str | Path) -> Transcript:
            return "текст"  # type: ignore[return-value]  # a likely user mistake

    with pytest.raises(StreamingError, match=r"tones\.transcribe вернул str, а нужен Transcript"):
        stream(Text(), PHRASES)


def test_the_embedded_model_streams_the_text_it_recognises_in_the_file() -> None:
    demo = Path(__file__).parents[3] / "fixtures" / "demo" / "02-accept.wav"
    model = Transcriber("tiny-ru", offline=True)
    waveform = load_audio(demo, sample_rate=16_000).waveform[0]
    asr = OfflineToStreaming(model, interval=60)
    asr.start_thread()
    _, sender = make_sender(waveform, asr)
    sender.start_sending(without_delays=True)
    outputs = list(receive_transcription(asr, sender.id, PATIENCE_S))
    asr.stop_thread()
    assert TranscriptionChunk.join(outputs) == model.transcribe(demo).text


def test_a_streaming_model_recognises_files(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", np.stack([tone(3), tone(3)], axis=1), 16_000)
    recognizer = StreamingToOffline(DummyASR(), PATIENCE_S)
    transcript = recognizer.transcribe(tmp_path / "a.wav")
    assert transcript.text == "1 2 3"
    assert (transcript.channels, list(transcript.channel_map)) == (2, [0, 0])
    soundfile.write(tmp_path / "b.wav", np.stack([tone(3), silence(3)], axis=1), 8_000)
    other = recognizer.transcribe(tmp_path / "b.wav")
    assert other.text_of(1) == "1 2 3 4 5 6"
    recognizer.close()
    with pytest.raises(AudioError):
        recognizer.transcribe(tmp_path / "none.wav")


def test_channels_are_mixed_on_request(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", np.stack([tone(3), silence(3)], axis=1), 16_000)
    recognizer = StreamingToOffline(DummyASR(), PATIENCE_S, split_channels=False)
    transcript = recognizer.transcribe(tmp_path / "a.wav")
    recognizer.close()
    assert (transcript.text, list(transcript.channel_map)) == ("1 2 3", [0])
    assert recognizer.settings["channel"] == "mono"


def test_finishing_before_the_audio_ends_is_an_error(tmp_path: Path) -> None:
    class Hasty(DummyASR):
        def _run(self) -> None:
            _, id = self.input_buffer.get()
            self.output_buffer.put(OutputChunk(data=Signal.FINISH, seconds_processed=0), id)
            self.input_buffer.get("nothing")

    soundfile.write(tmp_path / "a.wav", tone(3), 16_000)
    recognizer = StreamingToOffline(Hasty(), PATIENCE_S)
    with pytest.raises(StreamingError, match="не дослушав"):
        recognizer.transcribe(tmp_path / "a.wav")
    recognizer.close()


def test_the_models_thread_ends_with_the_recogniser(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", tone(1), 16_000)
    asr = DummyASR()
    recognizer = StreamingToOffline(asr, PATIENCE_S)
    recognizer.transcribe(tmp_path / "a.wav")
    thread = asr._thread
    assert thread is not None
    assert thread.is_alive()
    del recognizer
    gc.collect()
    thread.join(PATIENCE_S)
    assert not thread.is_alive()


class Inventor:
    """A recogniser that finds a word in whatever it is given."""

    name = "inventor"

    def __init__(self) -> None:
        self.calls = 0

    def transcribe(self, path: str | Path) -> Transcript:
        self.calls += 1
        return Transcript.from_text("слово", duration=1.0)


def noise(seconds: float, level: float) -> NDArray[np.float32]:
    generator = np.random.default_rng(5)
    return (level * generator.standard_normal(round(seconds * 16_000))).astype(np.float32)


@pytest.mark.parametrize(
    "audio",
    [
        pytest.param(silence(8), id="silence"),
        pytest.param(noise(8, 1e-5), id="the hiss of a quiet line"),
        pytest.param(noise(8, 0.05), id="steady noise"),
        pytest.param(np.where(np.arange(128_000) % 16_000 < 40, 0.5, 0), id="clicks"),
    ],
)
def test_a_model_is_not_asked_where_nobody_speaks(audio: NDArray[np.float32]) -> None:
    recognizer = Inventor()
    assert TranscriptionChunk.join(stream(recognizer, audio.astype(np.float32))) == ""
    assert recognizer.calls == 0


@pytest.mark.parametrize("level", [0.0, 1e-4, 0.01])
def test_pauses_between_speech_add_no_words(level: float) -> None:
    quiet = noise(6, level) if level else silence(6)
    speech = syllables(1.0)
    audio = np.concatenate([quiet, speech + quiet[: len(speech)], quiet, speech, quiet])
    text = TranscriptionChunk.join(stream(Inventor(), audio.astype(np.float32)))
    assert 2 <= len(text.split()) <= 4
