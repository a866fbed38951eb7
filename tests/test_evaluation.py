from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from stt_ru.errors import AudioError, ModelLoadError, UsageError
from stt_ru.evaluation import (
    ModelSource,
    Progress,
    Sample,
    evaluate,
    evaluate_models,
)
from stt_ru.provenance import references_digest
from stt_ru.recognition.recognizer import Recognizer, Transcript
from stt_ru.results import ModelReport, Segment
from stt_ru.scoring.counts import EditCounts
from stt_ru.text.marked_references import VARIANTS
from tests.conftest import FakeRecognizer

STEREO = Transcript(
    segments=(Segment(0, 1, "да", 0), Segment(1, 2, "нет", 1)),
    duration=2.0,
    channels=2,
    channel_map=(0, 1),
)


class Listener:
    def __init__(self) -> None:
        self.labels: list[str] = []
        self.states: list[Progress] = []

    def loading(self, label: str) -> None:
        self.labels.append(label)

    def advanced(self, progress: Progress) -> None:
        self.states.append(progress)


def test_rates_are_of_the_sums() -> None:
    recognizer = FakeRecognizer({"a.wav": "мама мыла", "b.wav": "рама"})
    samples = [Sample("a.wav", "мама мыла раму"), Sample("b.wav", "рама")]
    report = evaluate(recognizer, samples)
    assert report.wer == 1 / 4
    assert report.cer == 5 / 18
    assert (report.files, report.failed, report.audio_s) == (2, 0, 4.0)
    assert report.speed is not None
    assert [result.wer for result in report.results] == [1 / 3, 0.0]


def test_a_failed_recording_is_counted_not_scored() -> None:
    recognizer = FakeRecognizer({"a.wav": "да", "b.wav": AudioError("файл пуст (0 байт)")})
    report = evaluate(recognizer, [Sample("a.wav", "да"), Sample("b.wav", "нет")])
    assert (report.wer, report.files, report.failed) == (0.0, 2, 1)
    assert report.audio_s == 2.0  # the failed one is not heard
    assert report.results[1].error == "файл пуст (0 байт)"
    assert report.results[1].hypothesis is None
    assert report.results[1].wer is None


def test_an_error_of_foreign_code_is_a_failure_of_the_recording() -> None:
    report = evaluate(FakeRecognizer({"a.wav": ZeroDivisionError()}), [Sample("a.wav", "да")])
    assert report.results[0].error == "ZeroDivisionError"
    assert (report.wer, report.speed) == (None, None)


def test_an_answer_that_is_no_transcript_is_a_failure() -> None:
    class Wrong:
        name = "wrong"

        def transcribe(self, path: str | Path) -> Transcript:
            return "текст"  # type: ignore[return-value]  # the mistake in question

    (result,) = evaluate(Wrong(), [Sample("a.wav", "да")]).results
    assert result.error == "wrong.transcribe вернул str, а нужен Transcript"


def test_rows_of_one_recording_share_its_transcript() -> None:
    recognizer = FakeRecognizer({"a.wav": STEREO})
    samples = [
        Sample("a.wav", "да", 0),
        Sample("a.wav", "нет", 1),
        Sample("a.wav", "да нет"),
        Sample("a.wav", "что", 2),
    ]
    report = evaluate(recognizer, samples)
    assert recognizer.asked == ["a.wav"]
    assert [result.wer for result in report.results] == [0.0, 0.0, 0.0, None]
    assert report.results[3].error is not None
    assert "канала 2 в ней нет" in report.results[3].error
    assert (report.failed, report.audio_s) == (1, 2.0)


def test_one_file_written_two_ways_is_one_recording(tmp_path: Path) -> None:
    file = tmp_path / "a.wav"
    file.touch()
    link = tmp_path / "link.wav"
    link.symlink_to(file)
    (tmp_path / "x").mkdir()
    recognizer = FakeRecognizer({"a.wav": STEREO, "link.wav": STEREO})
    samples = [
        Sample("a.wav", "да", 0, path=file),
        Sample("x/../a.wav", "нет", 1, path=tmp_path / "x" / ".." / "a.wav"),
        Sample("link.wav", "нет", 1, path=link),
    ]
    report = evaluate(recognizer, samples)
    assert len(recognizer.asked) == 1
    assert report.audio_s == 2.0


def test_an_empty_reference_gives_insertions_and_no_rate() -> None:
    recognizer = FakeRecognizer({"a.wav": "шум и гам", "b.wav": "да"})
    report = evaluate(recognizer, [Sample("a.wav", ""), Sample("b.wav", "да")])
    assert report.results[0].wer is None
    assert report.score.words == EditCounts(insertions=3, length=1)
    assert report.wer == 3.0


def test_results_keep_the_order_of_the_manifest(tmp_path: Path) -> None:
    names = [f"{number}.wav" for number in range(12)]
    for number, name in enumerate(names):
        (tmp_path / name).write_bytes(b"x" * (number * 7 % 12))
    recognizer = FakeRecognizer({name: name for name in names}, concurrency=4)
    samples = [Sample(name, name, path=tmp_path / name) for name in names]
    report = evaluate(recognizer, samples)
    assert [result.hypothesis for result in report.results] == names


def test_the_longest_recordings_come_first_when_several_run_at_a_time(tmp_path: Path) -> None:
    sizes = {"a.wav": 10, "b.wav": 30, "c.wav": 20}
    for name, size in sizes.items():
        (tmp_path / name).write_bytes(b"x" * size)
    both_started = threading.Barrier(2, timeout=10)

    class Recognizer(FakeRecognizer):
        def transcribe(self, path: str | Path) -> Transcript:
            transcript = super().transcribe(path)  # notes the name first
            if Path(path).name != "a.wav":
                both_started.wait()  # two at a time, or this fails
            return transcript

    recognizer = Recognizer(dict.fromkeys(sizes, ""), concurrency=2)
    evaluate(recognizer, [Sample(name, "да", path=tmp_path / name) for name in sizes])
    assert set(recognizer.asked[:2]) == {"b.wav", "c.wav"}


def test_a_recogniser_that_says_nothing_gets_one_recording_at_a_time() -> None:
    most = 0
    running = 0
    lock = threading.Lock()

    class Recognizer:
        name = "counting"

        def transcribe(self, path: str | Path) -> Transcript:
            nonlocal most, running
            with lock:
                running += 1
                most = max(most, running)
            os.sched_yield()
            with lock:
                running -= 1
            return Transcript.from_text("")

    samples = [Sample(f"{number}.wav", "да") for number in range(20)]
    evaluate(Recognizer(), samples)
    assert most == 1


def test_seconds_are_the_recognisers_own_when_it_measured_them() -> None:
    transcript = Transcript(segments=(), duration=1.0, seconds=0.25)
    report = evaluate(FakeRecognizer({"a.wav": transcript}), [Sample("a.wav", "да")])
    assert report.results[0].seconds == 0.25


def test_progress_counts_recordings_audio_and_errors() -> None:
    listener = Listener()
    recognizer = FakeRecognizer({"a.wav": "да", "b.wav": "нет"})
    samples = [Sample("a.wav", "да"), Sample("b.wav", "да")]
    evaluate(recognizer, samples, progress=listener)
    assert listener.states[0].recordings_done == 0
    last = listener.states[-1]
    assert (last.recordings_done, last.recordings, last.finished) == (2, 2, True)
    assert last.audio_s == 4.0
    assert last.words == EditCounts(substitutions=1, length=2)


def test_progress_is_by_the_sizes_of_the_recordings(tmp_path: Path) -> None:
    listener = Listener()
    for name, size in (("a.wav", 100), ("b.wav", 300)):
        (tmp_path / name).write_bytes(bytes(size))
    samples = [Sample(name, "да", path=tmp_path / name) for name in ("a.wav", "b.wav", "b.wav")]
    evaluate(FakeRecognizer({"a.wav": "да", "b.wav": "да"}), samples, progress=listener)
    assert [state.share for state in listener.states] == [0.0, 0.25, 1.0, 1.0]


def test_a_model_that_does_not_load_is_reported_and_the_rest_go_on() -> None:
    def broken() -> FakeRecognizer:
        raise ModelLoadError("нет каталога")

    def crashing() -> FakeRecognizer:
        raise RuntimeError("сломалось\nсовсем")

    good = FakeRecognizer({"a.wav": "да"})
    sources = [
        ModelSource("broken", "broken", broken),
        ModelSource("crashing", "crashing", crashing),
        ModelSource("good", "хорошая", lambda: good),
    ]
    listener = Listener()
    reports = list(evaluate_models(sources, [Sample("a.wav", "да")], progress=listener))
    assert [report.error for report in reports] == [
        "нет каталога",
        "RuntimeError: сломалось совсем",
        None,
    ]
    assert [report.failed for report in reports] == [1, 1, 0]
    assert reports[0].results == ()
    assert (reports[2].label, reports[2].wer) == ("хорошая", 0.0)
    assert listener.labels == ["broken", "crashing", "хорошая"]


def test_an_interrupted_evaluation_does_not_wait_for_its_threads() -> None:
    never = threading.Event()

    class Stuck(FakeRecognizer):
        def transcribe(self, path: str | Path) -> Transcript:
            never.wait()
            return super().transcribe(path)

    class Impatient(Listener):
        def advanced(self, progress: Progress) -> None:
            if self.states:
                raise KeyboardInterrupt
            super().advanced(progress)

    with pytest.raises(KeyboardInterrupt):
        evaluate(Stuck({}), [Sample("a.wav", "да")], progress=Impatient())
    never.set()


def test_the_signature_names_what_can_move_the_figures() -> None:
    samples = [Sample("a.wav", "Да!")]
    report = evaluate(FakeRecognizer({"a.wav": "да"}), samples)
    assert report.signature is not None
    fields = report.signature.fields
    assert list(fields)[:2] == ["model", "lang"]
    assert fields["norm"] == "ru-1"
    assert fields["rows"] == "1"
    assert fields["refs"] == references_digest(samples)
    assert {"split", "empty", "stt-ru", "onnx-asr", "onnxruntime"} <= set(fields)
    assert str(report.signature).startswith("model:fake|lang:ru|norm:ru-1|split:rapidfuzz|")


def test_variants_in_the_references_are_read_when_asked() -> None:
    texts = {"a.wav": "1000 рублей", "b.wav": "вот и всё", "c.wav": "", "d.wav": "да"}
    samples = [
        Sample("a.wav", "{Тысяча|1000} рублей, {ну}."),
        Sample("b.wav", "<*> всё"),
        Sample("c.wav", "{кхм}"),
        Sample("d.wav", "Да!"),
    ]
    report = evaluate(FakeRecognizer(texts), samples, variants=True)
    assert [row.chosen for row in report.results] == ["1000 рублей, .", "<*> всё", "", None]
    assert [row.reference for row in report.results] == [sample.text for sample in samples]
    assert report.score.words == EditCounts(length=4)
    assert report.results[2].wer is None
    assert report.signature is not None
    assert report.signature.fields["variants"] == VARIANTS
    assert report.signature.fields["refs"] == references_digest(samples, variants=True)
    plain = evaluate(FakeRecognizer(texts), samples)
    assert plain.results[0].chosen is None
    assert plain.score.words == EditCounts(deletions=3, insertions=2, length=7)
    assert plain.signature is not None
    assert "variants" not in plain.signature.fields


def test_each_model_is_compared_with_what_it_said() -> None:
    sources = [
        ModelSource(name, name, partial(FakeRecognizer, {"a.wav": text}))
        for name, text in (("words", "тысяча рублей"), ("figures", "1000 рублей"))
    ]
    samples = [Sample("a.wav", "{тысяча|1000} рублей")]
    reports = list(evaluate_models(sources, samples, variants=True))
    assert [report.results[0].chosen for report in reports] == ["тысяча рублей", "1000 рублей"]
    assert [report.wer for report in reports] == [0.0, 0.0]


def test_broken_marks_are_refused_before_anything_is_recognised() -> None:
    recognizer = FakeRecognizer({"a.wav": "да"})
    with pytest.raises(UsageError, match=r"^a\.wav: скобка открыта и не закрыта: «\{да»"):
        evaluate(recognizer, [Sample("a.wav", "{да")], variants=True)
    assert recognizer.asked == []
    assert evaluate(recognizer, [Sample("a.wav", "{да")]).wer == 0.0


def warnings_of(report: ModelReport) -> str:
    return "\n".join(report.warnings)


def test_warnings_of_recordings_name_them() -> None:
    transcript = Transcript(segments=(), duration=1.0, warnings=("файл оборван",))
    report = evaluate(FakeRecognizer({"a.wav": transcript}), [Sample("a.wav", "да")])
    assert report.warnings == ("a.wav: файл оборван",)


def test_latin_letters_inside_russian_words_are_counted() -> None:
    samples = [Sample("a.wav", "cтол"), Sample("a.wav", "стол")]
    report = evaluate(FakeRecognizer({"a.wav": "стол"}), samples)
    assert "латинские буквы внутри русских слов, в эталонах: 1" in warnings_of(report)


def test_mono_with_channels_in_the_manifest_warns() -> None:
    recognizer = FakeRecognizer({"a.wav": "да"})
    recognizer.settings = {"channel": "mono"}
    assert "--mono" in warnings_of(evaluate(recognizer, [Sample("a.wav", "да", 0)]))
    assert warnings_of(evaluate(recognizer, [Sample("a.wav", "да")])) == ""


def test_no_samples_is_an_empty_report() -> None:
    report = evaluate(FakeRecognizer({}), [])
    assert (report.files, report.failed, report.wer, report.speed) == (0, 0, None, None)


def lying(answer: object) -> Recognizer:
    """A recogniser whose ``transcribe`` calls ``answer`` or gives it back."""

    class Liar:
        name = "liar"

        def transcribe(self, path: str | Path) -> Transcript:
            return answer() if callable(answer) else answer  # type: ignore[return-value]  # a lie

    return Liar()


def raising(error: BaseException) -> Callable[[], Transcript]:
    def fail() -> Transcript:
        raise error

    return fail


class Unspeakable(Exception):  # noqa: N818 - its message cannot be had
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (raising(SystemExit("нет ключа")), "SystemExit: нет ключа"),
        (raising(KeyboardInterrupt()), "KeyboardInterrupt"),
        (raising(GeneratorExit()), "GeneratorExit"),
        (raising(Unspeakable()), "Unspeakable"),
        (lambda: Transcript.from_text(None), "Segment.text: нужна строка, а не None"),  # type: ignore[arg-type]
        (lambda: Transcript(segments=None), "Transcript.segments: нужен список"),  # type: ignore[arg-type]
        (lambda: Transcript(segments=["да"]), "нужны значения Segment"),  # type: ignore[list-item]
        (lambda: Transcript(segments=(), channel_map=()), "channel_map: пуст"),
        (lambda: Transcript(segments=(), warnings="слово"), "Transcript.warnings: нужен список"),
        (lambda: Transcript.from_text("да", -5.0), "duration: нужны секунды"),
        (lambda: Transcript.from_text("да", float("nan")), "duration: нужны секунды"),
        (lambda: Transcript.from_text("да", float("inf")), "duration: нужны секунды"),
        (lambda: Transcript.from_text("да", 10**400), "duration: нужны секунды"),
        (lambda: Transcript.from_text("да", "3"), "duration: нужны секунды"),  # type: ignore[arg-type]
        (lambda: Transcript(segments=(), seconds=float("nan")), "seconds: нужны секунды"),
        (None, "вернул NoneType, а нужен Transcript"),
    ],
)
def test_a_recogniser_that_misbehaves_fails_its_row_alone(answer: object, message: str) -> None:
    (result,) = evaluate(lying(answer), [Sample("a.wav", "да")]).results
    assert result.error is not None
    assert message in result.error


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        ("eval.csv", "нужен список Sample, а не str; манифест читает load_manifest"),
        (Path("eval.csv"), "нужен список Sample, а не PosixPath"),
        (Sample("a.wav", "да"), "нужен список Sample, а не Sample"),
        (FakeRecognizer({}), "нужен список Sample, а не FakeRecognizer"),
        (None, "нужен список Sample, а не NoneType"),
        ([Sample("a.wav", "да"), ("b.wav", "нет")], r"нужны Sample, а не \('b.wav', 'нет'\)"),
    ],
)
def test_samples_that_are_none_are_one_sentence(samples: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        evaluate(FakeRecognizer({}), samples)
    with pytest.raises(UsageError, match=message):
        next(evaluate_models([], samples))


def test_arguments_in_the_other_order_are_one_sentence() -> None:
    samples: Any = [Sample("a.wav", "да")]
    with pytest.raises(UsageError, match="list – не распознаватель: нужен объект с name"):
        evaluate(samples, FakeRecognizer({}))  # type: ignore[arg-type]


def test_samples_may_come_one_after_another() -> None:
    report = evaluate(lying(Transcript.from_text("да")), iter([Sample("a.wav", "да")]))  # type: ignore[arg-type]
    assert report.wer == 0


def test_numbers_of_numpy_are_numbers() -> None:
    transcript = Transcript.from_text("да", np.float32(1.5))  # type: ignore[arg-type]  # as users do
    assert type(transcript.duration) is float
    assert evaluate(lying(transcript), [Sample("a.wav", "да")]).audio_s == 1.5


def made(**attributes: object) -> Callable[[], Recognizer]:
    """A factory of an object with the attributes; ``transcribe`` and ``name`` unless given."""
    attributes = {"name": "n", "transcribe": lambda path: Transcript.from_text("да"), **attributes}

    def make() -> Recognizer:
        return SimpleNamespace(**{k: v for k, v in attributes.items() if v is not ...})

    return make


@pytest.mark.parametrize(
    ("factory", "message"),
    [
        (lambda: None, "NoneType – не распознаватель"),
        (lambda: FakeRecognizer, "не распознаватель"),
        (made(transcribe=...), "не распознаватель"),
        (made(name=...), "name: нужна непустая строка, а не None"),
        (made(name=5), "name: нужна непустая строка, а не 5"),
        (made(concurrency=0), "concurrency: нужно целое число не меньше 1"),
        (made(concurrency="много"), "concurrency: нужно целое число не меньше 1"),
        (made(settings=[1]), "settings: нужен словарь"),
        (made(warnings="слово"), "warnings: нужен список строк"),
        (made(warnings=[1]), "warnings: нужны строки, а не 1"),
        (raising(SystemExit(0)), "SystemExit: 0"),
        (raising(KeyboardInterrupt()), "KeyboardInterrupt"),
    ],
)
def test_what_is_no_recogniser_is_not_loaded_and_the_rest_go_on(
    factory: Callable[[], Recognizer], message: str
) -> None:
    sources = [ModelSource("bad", "bad", factory), ModelSource("good", "good", made())]
    bad, good = evaluate_models(sources, [Sample("a.wav", "да")])
    assert bad.error is not None
    assert message in bad.error
    assert (good.error, good.wer) == (None, 0.0)


def test_python_users_are_told_the_same() -> None:
    with pytest.raises(UsageError, match="не распознаватель"):
        evaluate(object(), [])  # type: ignore[arg-type]  # the mistake in question
    with pytest.raises(UsageError, match="concurrency = 0"):
        evaluate(FakeRecognizer({}), [], concurrency=0)


def test_samples_may_come_from_a_generator() -> None:
    samples = (Sample("a.wav", "да") for _ in range(2))
    report = evaluate(FakeRecognizer({"a.wav": "да"}), samples)  # type: ignore[arg-type]  # as users do
    assert report.files == 2


def test_a_recogniser_that_changes_the_folder_hurts_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.wav", "b.wav"):
        (tmp_path / name).touch()

    class Wanderer(FakeRecognizer):
        def transcribe(self, path: str | Path) -> Transcript:
            assert Path(path).exists()
            os.chdir("/")
            return super().transcribe(path)

    recognizer = Wanderer({"a.wav": "да", "b.wav": "да"})
    assert evaluate(recognizer, [Sample("a.wav", "да"), Sample("b.wav", "да")]).failed == 0


def test_settings_cannot_pass_for_another_model() -> None:
    recognizer = FakeRecognizer({"a.wav": "да"})
    recognizer.settings = {"model": "чужая", "a|b": "c"}
    signature = str(evaluate(recognizer, [Sample("a.wav", "да")]).signature)
    assert signature.startswith("model:fake|a%7Cb:c|")


def test_neither_warnings_nor_seconds_depend_on_the_order_of_finishing(tmp_path: Path) -> None:
    durations_s = [0.1, 1e16, 0.2, 0.3]
    names = [f"{number}.wav" for number in range(4)]
    texts = {
        name: Transcript(segments=(), duration=duration_s, warnings=("починено",))
        for name, duration_s in zip(names, durations_s, strict=True)
    }
    samples = [Sample(name, "да", path=tmp_path / name) for name in names]

    def report(order: list[int]) -> ModelReport:
        for size, number in enumerate(reversed(order), start=1):  # the largest come first
            (tmp_path / names[number]).write_bytes(bytes(size))
        return evaluate(FakeRecognizer(texts, concurrency=2), samples)

    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]):
        found = report(order)
        assert found.audio_s == math.fsum(durations_s)
        assert found.warnings == tuple(f"{name}: починено" for name in names)
