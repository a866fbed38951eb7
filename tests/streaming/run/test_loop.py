"""The loop over a manifest, with well-behaved and misbehaving models."""

import json
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import soundfile
from numpy.typing import NDArray

from stt_ru.analysis.aligned_rows import AlignedReport
from stt_ru.analysis.significance import Comparison, compare
from stt_ru.errors import ModelLoadError, ReportError, UsageError
from stt_ru.evaluation import Progress, ProgressListener
from stt_ru.manifest import Sample
from stt_ru.provenance import references_digest
from stt_ru.recognition.recognizer import Recognizer, Transcript
from stt_ru.results import FileResult
from stt_ru.scoring.counts import score_texts
from stt_ru.streaming.engines.adapters import OfflineToStreaming
from stt_ru.streaming.engines.model import DummyASR, StreamingASR
from stt_ru.streaming.measures.latency import StreamFigures, WordLatency
from stt_ru.streaming.queue.chunks import (
    InputBuffer,
    OutputBuffer,
    OutputChunk,
    Signal,
    TranscriptionChunk,
)
from stt_ru.streaming.run.history import History
from stt_ru.streaming.run.loop import evaluate_streams
from stt_ru.streaming.run.report import (
    format_stream_table,
    stream_json,
    stream_notes,
    stream_remarks,
)
from stt_ru.streaming.run.results import StreamOptions, StreamReport, StreamResult
from stt_ru.streaming.run.sources import LoadedStream, StreamSource
from stt_ru.streaming.timing.ctc import CtcModel
from stt_ru.streaming.timing.reference_words import ReferenceWords
from tests.streaming.fakes import PATIENCE_S, FunctionASR, syllables


def no_aligner() -> CtcModel:
    raise AssertionError("no aligner is needed: the rows have word timings")


def sample(folder: Path, name: str, seconds: float, text: str = "1 2") -> Sample:
    soundfile.write(folder / name, syllables(seconds), 16_000)
    words = [
        {"word": word, "start": n, "end": n + 0.9} for n, word in enumerate(text.split(), start=0)
    ]
    return Sample(name, text, None, {"words": words}, folder / name)


def run(
    load: Callable[[], LoadedStream],
    samples: list[Sample],
    options: StreamOptions = StreamOptions(timeout_s=0.3),  # noqa: B008 - frozen
    **more: object,
) -> list[StreamReport]:
    source = StreamSource("model", "модель", load)
    reference_words = ReferenceWords(samples, no_aligner)
    return list(evaluate_streams([source], samples, reference_words, [options], **more))  # type: ignore[arg-type]


def streamed(recognizer: Recognizer) -> LoadedStream:
    """A file recogniser that streams, compared with itself offline."""
    asr = OfflineToStreaming(recognizer, 0.5)
    return LoadedStream(asr, asr.loaded)


def answer_each(
    act: Callable[[int, OutputBuffer, int | str], bool],
) -> Callable[[InputBuffer, OutputBuffer], None]:
    """A model that answers «1 2» for each recording, unless ``act`` returns True for its number."""

    def model(audio: InputBuffer, text: OutputBuffer) -> None:
        numbers: dict[int | str, int] = {}
        while True:
            chunk, id = audio.get()
            number = numbers.setdefault(id, len(numbers))
            if chunk.data is not Signal.FINISH or act(number, text, id):
                continue
            said = TranscriptionChunk(text="1 2")
            text.put(OutputChunk(data=said, seconds_processed=chunk.end_time), id)
            text.put(OutputChunk(data=Signal.FINISH, seconds_processed=chunk.end_time), id)

    return model


def errors(report: StreamReport) -> list[str | None]:
    return [result.row.error for result in report.results]


def test_every_row_is_measured_in_order(tmp_path: Path) -> None:
    samples = [sample(tmp_path, f"{n}.wav", 2.2) for n in range(3)]
    samples[1] = sample(tmp_path, "1.wav", 2.2, "1 5")
    kept: list[tuple[int, str, int]] = []

    def keep(row: int, label: str, history: History, waveform: NDArray[np.float32]) -> None:
        kept.append((row, history.text, len(waveform)))

    (report,) = run(lambda: LoadedStream(DummyASR()), samples, on_result=keep)
    assert errors(report) == [None] * 3
    assert [r.row.hypothesis for r in report.results] == ["1 2"] * 3
    assert report.score.words.rate == pytest.approx(1 / 6)
    assert report.finalisation.count == 5
    # The dummy emits a word when its second is over, 0.1 s after its end, or one piece later.
    assert report.first_word.p50 == pytest.approx(0.1, abs=0.21)
    assert report.unstable_rate == 0
    assert kept == [(0, "1 2", 35_200), (1, "1 2", 35_200), (2, "1 2", 35_200)]
    assert report.lags is not None
    assert report.lags_count == 3
    assert report.signature is not None
    assert "|send:remap|interval:0.2s|" in str(report.signature)


def test_a_recording_that_fails_stays_a_row_and_the_others_continue(tmp_path: Path) -> None:
    samples = [sample(tmp_path, f"{n}.wav", 1.2) for n in range(3)]

    class Fussy:
        name = "fussy"

        def transcribe(self, path: str | Path) -> Transcript:
            audio, _ = soundfile.read(path)
            if self.asked == 4:
                self.asked += 1
                raise ValueError("не нравится")
            self.asked += 1
            return Transcript.from_text("1 2", len(audio) / 16_000)

        asked = 0

    (report,) = run(lambda: LoadedStream(OfflineToStreaming(Fussy(), 0.5)), samples)
    assert errors(report) == [None, "ValueError: не нравится", None]
    assert report.failed == 1


def test_a_model_that_dies_is_restarted_for_the_next_recording(tmp_path: Path) -> None:
    samples = [sample(tmp_path, f"{n}.wav", 0.5) for n in range(3)]
    deaths = iter([True, False, False])

    def die(number: int, text: OutputBuffer, id: int | str) -> bool:
        if next(deaths):
            raise ZeroDivisionError("внутри")
        return False

    asr = FunctionASR(answer_each(die))
    (report,) = run(lambda: LoadedStream(asr), samples)
    assert errors(report) == ["ZeroDivisionError: внутри", None, None]


def test_a_recording_never_finished_is_given_up_and_the_others_continue(tmp_path: Path) -> None:
    samples = [sample(tmp_path, f"{n}.wav", 0.5) for n in range(3)]
    forgotten = iter([False, True, False])
    asr = FunctionASR(answer_each(lambda number, text, id: next(forgotten)))
    (report,) = run(lambda: LoadedStream(asr), samples)
    assert [bool(error) for error in errors(report)] == [False, True, False]
    assert "модель молчит: 0.3 с" in str(errors(report)[1])


def test_a_model_that_hangs_is_reloaded(tmp_path: Path) -> None:
    samples = [sample(tmp_path, f"{n}.wav", 0.5) for n in range(3)]
    release = threading.Event()
    loaded: list[StreamingASR] = []

    def load() -> LoadedStream:
        def hang(number: int, text: OutputBuffer, id: int | str) -> bool:
            if len(loaded) == 1 and number == 1:
                release.wait(PATIENCE_S)
            return False

        loaded.append(FunctionASR(answer_each(hang)))
        return LoadedStream(loaded[-1])

    (report,) = run(load, samples)
    release.set()
    assert [bool(error) for error in errors(report)] == [False, True, False]
    assert len(loaded) == 2


def test_an_answer_after_the_end_is_an_error_of_its_row(tmp_path: Path) -> None:
    samples = [sample(tmp_path, f"{n}.wav", 0.5) for n in range(3)]

    def chatter(number: int, text: OutputBuffer, id: int | str) -> bool:
        if number == 1:
            text.put(OutputChunk(data=Signal.FINISH, seconds_processed=0.5), id)
        return False

    asr = FunctionASR(answer_each(chatter))
    (report,) = run(lambda: LoadedStream(asr), samples)
    assert [bool(error) for error in errors(report)] == [False, True, False]
    assert "ответила после конца" in str(errors(report)[1])


def test_a_model_that_answers_nothing_has_100_percent_wer_and_no_latency(tmp_path: Path) -> None:
    def mute(number: int, text: OutputBuffer, id: int | str) -> bool:
        text.put(OutputChunk(data=Signal.FINISH, seconds_processed=0.5), id)
        return True

    samples = [sample(tmp_path, "a.wav", 0.5)]
    (report,) = run(lambda: LoadedStream(FunctionASR(answer_each(mute))), samples)
    assert errors(report) == [None]
    assert report.score.words.rate == 1
    assert report.finalisation.p50 is None
    assert report.lags is None
    assert report.lags_count == 0
    assert "–" in format_stream_table([report]).splitlines()[1]


def test_finishing_before_the_recording_ends_is_an_error(tmp_path: Path) -> None:
    def hasty(audio: InputBuffer, text: OutputBuffer) -> None:
        while True:
            _, id = audio.get()
            if text.own_error_of(id) is None:
                text.put(OutputChunk(data=Signal.FINISH, seconds_processed=0.0), id)
            audio.get("nothing")

    samples = [sample(tmp_path, "a.wav", 1.0)]
    (report,) = run(lambda: LoadedStream(FunctionASR(hasty)), samples)
    assert "не дослушав" in str(errors(report)[0])


def test_an_empty_recording_is_an_error_of_its_row(tmp_path: Path) -> None:
    samples = [sample(tmp_path, "a.wav", 0.0), sample(tmp_path, "b.wav", 2.0)]
    (report,) = run(lambda: LoadedStream(DummyASR()), samples)
    assert "ни одного отсчёта" in str(errors(report)[0])
    assert errors(report)[1] is None


def test_a_model_that_does_not_load_still_has_a_report(tmp_path: Path) -> None:
    def load() -> LoadedStream:
        raise ModelLoadError("нет файлов")

    (report,) = run(load, [sample(tmp_path, "a.wav", 0.5)])
    assert (report.error, report.failed, report.results) == ("нет файлов", 1, ())
    assert "модель (не загружена)" in format_stream_table([report])
    assert "нет файлов" in stream_notes([report])[0].text


@pytest.mark.parametrize("attribute", ["name", "settings", "is_multithreaded"])
def test_an_attribute_that_raises_is_an_error_of_its_model(tmp_path: Path, attribute: str) -> None:
    def fail(self: StreamingASR) -> None:
        raise RuntimeError("нет связи")

    def load() -> LoadedStream:
        asr = DummyASR()
        asr.__class__ = type("Broken", (DummyASR,), {attribute: property(fail)})
        return LoadedStream(asr)

    (report,) = run(load, [sample(tmp_path, "a.wav", 0.5)])
    assert report.error == f"Broken.{attribute}: RuntimeError: нет связи"


def test_settings_are_read_once_and_written_as_text(tmp_path: Path) -> None:
    class Forgetful(DummyASR):
        asked = 0

        @property
        def settings(self) -> dict[str, str]:  # type: ignore[override]  # users may do this
            self.asked += 1
            if self.asked > 1:
                raise RuntimeError
            return {"beam": 5}  # type: ignore[dict-item]  # users do this

    (report,) = run(lambda: LoadedStream(Forgetful()), [sample(tmp_path, "a.wav", 1.2, "1")])
    assert errors(report) == [None]
    assert report.signature is not None
    assert report.signature.fields["beam"] == "5"


def report_of(hypotheses: list[str]) -> StreamReport:
    """A report on rows whose reference is «а б в г д», or «а б» for texts of two words."""
    results = []
    for number, hypothesis in enumerate(hypotheses):
        reference = "а б" if len(hypothesis.split()) == 2 else "а б в г д"
        right = [n for n, word in enumerate(reference.split()) if word in hypothesis.split()]
        row = FileResult(
            audio=f"{number}.wav",
            reference=reference,
            hypothesis=hypothesis,
            score=score_texts(reference, " ".join(hypothesis.split())),
        )
        figures = StreamFigures(latencies=[WordLatency(n, 0.1, 0.2) for n in right], audio_s=3.0)
        results.append(StreamResult(row=row, figures=figures))
    return StreamReport(
        model="m", label="m", options=StreamOptions(), rows=len(results), results=results
    )


@pytest.mark.parametrize(
    ("hypotheses", "expected"),
    [
        pytest.param(["а б в г д"] * 8, [], id="enough"),
        pytest.param(["а б"] * 2, ["всего по 4 словам (нужно хотя бы 30)"], id="few words"),
        pytest.param(
            ["а б"] + ["ж з и к л"] * 8,
            ["всего по 2 словам из 42: остальные не стали верными"],
            id="few became right",
        ),
        pytest.param(
            ["а б в г д е ж"] * 8,
            ["слова, которых никто не говорил: вставок 16 на 40 слов эталонов"],
            id="invented words",
        ),
    ],
)
def test_figures_that_mislead_carry_a_warning(hypotheses: list[str], expected: list[str]) -> None:
    found = [note.text for note in stream_notes([report_of(hypotheses)])]
    assert len(found) == len(expected)
    assert all(text in one for text, one in zip(expected, found, strict=True))


def test_warnings_are_in_manifest_order(tmp_path: Path) -> None:
    lengths_s = (1.2, 0.9, 0.6, 0.3)  # the last row finishes first
    samples = [sample(tmp_path, f"{n}.wav", s, "1") for n, s in enumerate(lengths_s)]
    kept: list[int] = []

    def refuse(row: int, label: str, history: History, waveform: NDArray[np.float32]) -> None:
        kept.append(row)
        raise ReportError("диск полон")

    options = StreamOptions(realtime=True, streams=4, timeout_s=PATIENCE_S)
    (report,) = run(lambda: LoadedStream(DummyASR()), samples, options, on_result=refuse)
    assert kept != sorted(kept)
    assert list(report.warnings) == [f"{n}.wav: диск полон" for n in range(4)]


def test_an_aligner_that_does_not_load_is_tried_only_once(tmp_path: Path) -> None:
    samples = [replace(sample(tmp_path, f"{n}.wav", 1.0), extra={}) for n in range(3)]
    asked = []

    def load() -> CtcModel:
        asked.append(1)
        raise ModelLoadError("модель не CTC")

    source = StreamSource("model", "модель", lambda: LoadedStream(DummyASR()))
    (report,) = evaluate_streams([source], samples, ReferenceWords(samples, load))
    assert errors(report) == ["модель не CTC"] * 3
    assert len(asked) == 1


def test_times_of_a_multithreaded_model_are_not_remapped(tmp_path: Path) -> None:
    class Threaded(DummyASR):
        @property
        def is_multithreaded(self) -> bool:
            return True

    samples = [sample(tmp_path, "a.wav", 0.5, "1")]
    (refused,) = run(lambda: LoadedStream(Threaded()), samples, StreamOptions(realtime=False))
    assert "--realtime" in str(refused.error)
    (report,) = run(lambda: LoadedStream(Threaded()), samples, StreamOptions(speed=10))
    assert report.options.realtime is True


def test_many_concurrent_recordings_in_real_time(tmp_path: Path) -> None:
    samples = [sample(tmp_path, f"{n}.wav", 2.2) for n in range(50)]
    options = StreamOptions(realtime=True, streams=50, speed=4, timeout_s=PATIENCE_S)
    (report,) = run(lambda: LoadedStream(DummyASR()), samples, options)
    assert errors(report) == [None] * 50
    assert report.score.words.rate == 0
    assert report.finalisation.count == 100
    assert report.compute_per_audio is not None


def test_the_offline_twin_is_compared_row_by_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples = [sample(tmp_path, f"{n}.wav", 1.2) for n in range(6)]

    class Whole:
        """Recognises the second word only in a whole recording."""

        name = "whole"

        def transcribe(self, path: str | Path) -> Transcript:
            audio, _ = soundfile.read(path)
            text = "1 2" if Path(path).parent == tmp_path else "1"
            return Transcript.from_text(text, len(audio) / 16_000)

    recognizer = Whole()
    load = partial(streamed, recognizer)
    compared: list[None] = []

    def counted(a: AlignedReport, b: AlignedReport) -> Comparison:
        compared.append(None)
        return compare(a, b)

    monkeypatch.setattr("stt_ru.streaming.run.offline.compare", counted)
    (report,) = run(load, samples)
    data = json.loads("".join(stream_json([report], manifest="m", created_at=datetime.now(UTC))))
    row = data["models"][0]["results"][0]
    assert (row["hypothesis"], row["offline"]["hypothesis"]) == ("1", "1 2")
    assert (row["wer"], row["offline"]["wer"], row["offline"]["error"]) == (0.5, 0, None)
    assert report.cost is not None
    assert (report.cost.wer_a, report.cost.wer_b) == (0, 0.5)
    assert report.cost.interval is not None
    assert "+50.0" in format_stream_table([report])
    assert "ΔWER +50.0 п. п., интервал 95 % от +50.0 до +50.0" in " ".join(stream_remarks([report]))
    assert len(compared) == 1  # its 10,000 resamples serve the table, the remarks and the JSON


class Channels:
    """Answers the loudness of a single-channel file; «много» for several channels."""

    name = "channels"
    settings: ClassVar = {"channel": "own"}

    def transcribe(self, path: str | Path) -> Transcript:
        audio, _ = soundfile.read(path, always_2d=True)
        if audio.shape[1] > 1:
            return Transcript.from_text("много", len(audio) / 16_000)
        return Transcript.from_text(f"{round(8 * np.abs(audio).max())}", len(audio) / 16_000)


def test_distinct_channels_without_a_number_are_mixed_in_the_stream_and_offline(
    tmp_path: Path,
) -> None:
    both = np.stack([syllables(1.0), np.zeros(16_000, np.float32)], axis=1)
    soundfile.write(tmp_path / "a.wav", both, 16_000)
    words = {"words": [{"word": "x", "start": 0, "end": 0.9}]}
    samples = [
        Sample("a.wav", "x", None, words, tmp_path / "a.wav"),
        Sample("a.wav", "x", 0, words, tmp_path / "a.wav"),
        Sample("a.wav", "x", 2, words, tmp_path / "a.wav"),
    ]
    recognizer = Channels()
    load = partial(streamed, recognizer)
    (report,) = run(load, samples)
    mixed, own, absent = report.results
    assert (mixed.row.hypothesis, own.row.hypothesis) == ("1", "2")
    assert "канала 2 в ней нет" in str(absent.row.error)
    assert list(report.warnings) == [
        "a.wav: каналы разные, а channel не указан: модели отправлена их смесь"
    ]
    assert report.offline is not None
    # Each row is compared with the model on what was streamed: the mix, or the channel.
    assert [row.hypothesis for row in report.offline.results] == ["1", "2", None]
    signature = report.offline.signature
    assert signature is not None
    assert (signature.fields["channel"], signature.fields["rows"]) == ("own+mix", "3")
    assert signature.fields["refs"] == references_digest(samples)


def test_ctrl_c_in_the_offline_pass_keeps_the_streamed_results(tmp_path: Path) -> None:
    samples = [sample(tmp_path, f"{n}.wav", 1.2) for n in range(2)]

    class Interrupting(ProgressListener):
        def loading(self, label: str) -> None:
            pass

        def advanced(self, progress: Progress) -> None:
            if progress.model.endswith("офлайн") and progress.recordings_done:
                raise KeyboardInterrupt

    recognizer = Channels()
    load = partial(streamed, recognizer)
    source = StreamSource("model", "модель", load)
    reference_words = ReferenceWords(samples, no_aligner)
    reports = []
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012 - what came before it counts
        for report in evaluate_streams([source], samples, reference_words, progress=Interrupting()):
            reports.append(report)
    (kept,) = reports
    assert errors(kept) == [None, None]
    assert kept.cost is None
    assert list(kept.warnings) == ["прервано до конца офлайн-распознавания, ΔWER нет"]


def test_the_report_is_valid_json_with_all_rows(tmp_path: Path) -> None:
    samples = [sample(tmp_path, "a.wav", 2.2), sample(tmp_path, "b.wav", 0.0)]
    reports = run(lambda: LoadedStream(DummyASR()), samples)
    pieces = stream_json(reports, manifest="m.jsonl", created_at=datetime(2026, 1, 1, tzinfo=UTC))
    data = json.loads("".join(pieces))
    (model,) = data["models"]
    assert (model["files"], model["failed"], model["wer"], model["send"]) == (2, 1, 0.0, "remap")
    assert model["finalisation_s"]["count"] == 2
    good, bad = model["results"]
    assert len(good["latencies"]) == 2
    assert (bad["latencies"], bad["wer"]) == (None, None)
    assert bad["error"]


@pytest.mark.parametrize(
    "options",
    [
        {"interval_s": 0},
        {"speed": -1},
        {"streams": 0},
        {"streams": 2, "realtime": False},
        {"timeout_s": 0},
    ],
)
def test_invalid_options_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        StreamOptions(**options)  # type: ignore[arg-type]
