"""What a recogniser says of itself: read once, when it is loaded, whatever its code does."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest

from stt_ru.errors import UsageError
from stt_ru.evaluation import ModelSource, evaluate, evaluate_models
from stt_ru.manifest import Sample
from stt_ru.recognition.cache import CachedRecognizer
from stt_ru.recognition.recognizer import Recognizer, Transcript, recognizer_info
from stt_ru.streaming.engines.adapters import OfflineToStreaming

SAMPLES = [Sample("a.wav", "да")]
ATTRIBUTES = ("name", "label", "settings", "concurrency", "warnings")


class Talkative:
    """Counts how often each thing is asked, and raises where it is told to."""

    def __init__(
        self, raises: str = "", error: BaseException | None = None, after: int = 0
    ) -> None:
        self.asked: Counter[str] = Counter()
        self._raises, self._error, self._after = raises, error, after

    def _say(self, attribute: str) -> None:
        self.asked[attribute] += 1
        if attribute == self._raises and self.asked[attribute] > self._after:
            assert self._error is not None
            raise self._error

    @property
    def name(self) -> str:
        self._say("name")
        return "говорун"

    @property
    def label(self) -> str:
        self._say("label")
        return "Говорун"

    @property
    def settings(self) -> Mapping[str, object]:
        self._say("settings")
        return {"beam": 5}

    @property
    def concurrency(self) -> int:
        self._say("concurrency")
        return 1

    @property
    def warnings(self) -> list[str]:
        self._say("warnings")
        return ["модель старая"]

    def transcribe(self, path: str | Path) -> Transcript:
        return Transcript.from_text("да")


def test_everything_a_recogniser_says_is_read_and_checked() -> None:
    info = recognizer_info(Talkative())
    assert (info.name, info.label, info.concurrency) == ("говорун", "Говорун", 1)
    assert info.settings == {"beam": "5"}
    assert info.warnings == ("модель старая",)


def test_what_a_recogniser_does_not_say_has_a_default() -> None:
    info = recognizer_info(SimpleNamespace(name="n", transcribe=Talkative().transcribe))
    assert (info.label, info.settings, info.concurrency, info.warnings) == ("n", None, 1, ())


def test_an_evaluation_reads_it_once() -> None:
    recognizer = Talkative()
    (report,) = evaluate_models([ModelSource("m", "m", lambda: recognizer)], SAMPLES)
    assert report.error is None
    # Warnings are also those that came while it worked.
    assert recognizer.asked == Counter({**dict.fromkeys(ATTRIBUTES, 1), "warnings": 2})


def test_a_recogniser_made_to_stream_is_read_once() -> None:
    recognizer = Talkative()
    OfflineToStreaming(recognizer)
    assert set(recognizer.asked.values()) == {1}


@pytest.mark.parametrize("attribute", ATTRIBUTES)
@pytest.mark.parametrize("error", [RuntimeError("нет связи"), SystemExit("нет связи")])
def test_an_attribute_that_raises_is_an_error_of_its_model(
    attribute: str, error: BaseException
) -> None:
    sentence = f"Talkative.{attribute}: {type(error).__name__}: нет связи"
    with pytest.raises(UsageError) as caught:
        evaluate(Talkative(attribute, error), SAMPLES)
    assert str(caught.value) == sentence
    sources = [
        ModelSource("bad", "bad", lambda: Talkative(attribute, error)),
        ModelSource("good", "good", Talkative),
    ]
    bad, good = evaluate_models(sources, SAMPLES)
    assert bad.error == sentence
    assert (good.error, good.wer) == (None, 0.0)


@pytest.mark.parametrize("attribute", [a for a in ATTRIBUTES if a != "warnings"])
def test_an_attribute_that_raises_later_is_not_asked_again(attribute: str) -> None:
    report = evaluate(Talkative(attribute, RuntimeError(), after=1), SAMPLES)
    assert (report.error, report.wer) == (None, 0.0)
    assert report.warnings == ("модель старая",)


def test_warnings_that_raise_later_do_not_lose_what_was_recognised() -> None:
    report = evaluate(Talkative("warnings", RuntimeError("нет связи"), after=1), SAMPLES)
    assert report.wer == 0.0
    assert report.warnings == ("модель старая", "Talkative.warnings: RuntimeError: нет связи")


def test_settings_that_cannot_be_written_are_an_error_of_their_model() -> None:
    class Unspeakable:
        def __str__(self) -> str:
            raise RuntimeError("секрет")

    recognizer = SimpleNamespace(
        name="n", transcribe=Talkative().transcribe, settings={"key": Unspeakable()}
    )
    with pytest.raises(UsageError, match=r"SimpleNamespace\.settings: RuntimeError: секрет"):
        recognizer_info(recognizer)


def test_the_cache_says_what_its_recogniser_says(tmp_path: Path) -> None:
    def info_of(recognizer: Recognizer) -> object:
        return recognizer_info(CachedRecognizer(recognizer, tmp_path))

    assert info_of(Talkative()) == recognizer_info(Talkative())
    silent = recognizer_info(
        CachedRecognizer(SimpleNamespace(name="n", transcribe=Talkative().transcribe), tmp_path)
    )
    assert silent.settings is None
    assert "кэш не используется" in silent.warnings[0]
