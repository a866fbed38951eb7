"""What a recogniser is, what it answers, and what it says of itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, TypeGuard, runtime_checkable

from stt_ru.audio import SAMPLE_RATE
from stt_ru.audio.tracks import track_of_row
from stt_ru.errors import AudioError, TranscriptionError, UsageError, sentence_of
from stt_ru.results import Segment, checked_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

_MISSING: Final = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """What a recogniser heard in a recording.

    Attributes:
        segments: In order of start, then channel.
        duration: Seconds of audio decoded; None when unknown.
        channels: Channels of the file.
        model: Name of the recogniser.
        source: Path of the recording.
        channel_map: For each channel of the file, the channel whose segments hold its text:
            channels equal sample for sample share one.
        seconds: Wall seconds of decoding and recognising, waiting for a turn not included; None
            when they were not measured.
        warnings: What was repaired or is suspicious, sentences in Russian.
        from_cache: Whether it was recognised earlier and only read now.
    """

    segments: Sequence[Segment]
    duration: float | None = None
    channels: int = 1
    model: str = ""
    source: str = ""
    channel_map: Sequence[int] = (0,)
    seconds: float | None = None
    warnings: Sequence[str] = ()
    from_cache: bool = False

    def __post_init__(self) -> None:
        for name in ("duration", "seconds"):
            value: object = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, checked_seconds(name, value))
        for name, kind in (("segments", Segment), ("channel_map", int), ("warnings", str)):
            values: object = getattr(self, name)
            if isinstance(values, str) or not isinstance(values, Sequence):
                raise UsageError(f"Transcript.{name}: нужен список, а не {values!r}")
            if strange := [value for value in values if not isinstance(value, kind)]:
                raise UsageError(
                    f"Transcript.{name}: нужны значения {kind.__name__}, а не {strange[0]!r}"
                )
        if not self.channel_map:
            raise UsageError("Transcript.channel_map: пуст, а каналов хотя бы один")

    @classmethod
    def from_text(cls, text: str, duration: float | None = None) -> Transcript:
        """The transcript of a recogniser that knows only the text of the whole recording."""
        end_s = 0.0 if duration is None else checked_seconds("duration", duration)
        return cls(segments=(Segment(0.0, end_s, text),), duration=duration)

    @property
    def text(self) -> str:
        """Text of all segments in order of start, then channel."""
        return _joined(self.segments)

    def text_of(self, channel: int | None) -> str:
        """Text of one channel of the file, or of all of them.

        Args:
            channel: From 0; None for all. With one track any number means the whole text.

        Raises:
            TranscriptionError: If the recording has distinct tracks but no such channel.
        """
        return _joined(self.segments_of(channel))

    def segments_of(self, channel: int | None) -> Sequence[Segment]:
        """Segments of one channel of the file, or of all of them, as `text_of` joins them."""
        try:
            track = track_of_row(self.channel_map, channel)
        except AudioError as error:
            raise TranscriptionError(str(error)) from error
        if track is None:
            return self.segments
        return [segment for segment in self.segments if segment.channel == track]


def _joined(segments: Sequence[Segment]) -> str:
    return " ".join(text for segment in segments if (text := segment.text.strip()))


class Recognizer(Protocol):
    """Anything that can be evaluated: a model, a cloud service, a user-supplied program.

    A recogniser may also have: ``label`` (its name in the table), ``concurrency`` (how many
    recordings it takes at once, from as many threads; 1 without it), ``knows_channels`` (True when
    its transcripts tell channels apart; without it, it is given one channel at a time, as a mono
    WAV file, where the manifest's rows name channels), ``settings`` (a mapping of
    strings for the report's signature: all that can move its text), ``warnings`` (sentences shown
    after the table), and the method of a `WaveformRecognizer`. All are read once, when it is
    loaded, and ``warnings`` once more after the last recording.
    """

    @property
    def name(self) -> str:
        """The name by which reports know it."""
        ...

    def transcribe(self, path: str | Path) -> Transcript:
        """Recognise one recording; raise on failure, never answer with an empty text instead."""
        ...


@runtime_checkable
class WaveformRecognizer(Recognizer, Protocol):
    """A recogniser that also takes samples in memory; to others they are given as a WAV file."""

    def transcribe_waveform(
        self, samples: NDArray[np.float32], sampling_rate: int = SAMPLE_RATE
    ) -> Transcript:
        """Recognise samples of one channel in [-1, 1], shape (n,); raise on failure."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RecognizerInfo:
    """What a recogniser says of itself, read once and checked: `recognizer_info` makes it.

    Attributes:
        name: The name by which reports know it.
        label: The name for the table; ``name`` where it has no other.
        settings: Fields for a report's signature: all that can move its text. None when it does not
            say, and nobody knows what its text depends on.
        concurrency: Recordings that it takes at once, from as many threads.
        knows_channels: Whether its transcripts tell the channels of a recording apart; otherwise
            it is given one channel at a time where the manifest's rows name them.
        warnings: Sentences about its loading; later ones are among `LoadedRecognizer.warnings`.
    """

    name: str
    label: str
    settings: Mapping[str, str] | None = None
    concurrency: int = 1
    knows_channels: bool = False
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LoadedRecognizer:
    """A recogniser in memory, and what it declared about itself when it was loaded."""

    recognizer: Recognizer
    info: RecognizerInfo

    @classmethod
    def of(cls, recognizer: Recognizer) -> LoadedRecognizer:
        """The recogniser, asked and checked.

        Raises:
            UsageError: Saying what is wrong with it.
        """
        return cls(recognizer, recognizer_info(recognizer))

    def warnings(self) -> tuple[str, ...]:
        """What it warns of by now: some learn only while they work what to say.

        When its code raises instead, that is one of the warnings: what has been recognised is not
        lost for a sentence that cannot be had.
        """
        try:
            return _warnings(self.recognizer)
        except UsageError as error:
            return (*self.info.warnings, str(error))


def is_recognizer(value: object) -> TypeGuard[Recognizer]:
    """Whether it is meant to transcribe; `recognizer_info` says what else is wrong with it."""
    with asking(value, "transcribe"):
        return callable(getattr(value, "transcribe", None))


def recognizer_info(recognizer: object) -> RecognizerInfo:
    """Ask a recogniser everything it may say of itself.

    Raises:
        UsageError: If it cannot be evaluated, naming the attribute that is wrong or raises.
    """
    kind = type(recognizer).__name__
    if isinstance(recognizer, type) or not is_recognizer(recognizer):
        raise UsageError(f"{kind} – не распознаватель: нужен объект с name и transcribe(path)")
    name = checked_name(recognizer)
    with asking(recognizer, "label"):
        label = str(getattr(recognizer, "label", name))
    with asking(recognizer, "concurrency"):
        concurrency: object = getattr(recognizer, "concurrency", 1)
        if not is_count(concurrency):
            raise UsageError(
                f"{kind}.concurrency: нужно целое число не меньше 1, а не {concurrency!r}"
            )
    with asking(recognizer, "knows_channels"):
        knows_channels: object = getattr(recognizer, "knows_channels", False)
        if not isinstance(knows_channels, bool):
            raise UsageError(
                f"{kind}.knows_channels: нужно True или False, а не {knows_channels!r}"
            )
    return RecognizerInfo(
        name=name,
        label=label,
        settings=checked_settings(recognizer),
        concurrency=concurrency,
        knows_channels=knows_channels,
        warnings=_warnings(recognizer),
    )


def is_count(value: object) -> TypeGuard[int]:
    """Whether it is a whole number from 1."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def checked_name(model: object) -> str:
    """The name of a model, of whichever kind.

    Raises:
        UsageError: If it has none, or its code raises instead.
    """
    with asking(model, "name"):
        name: object = getattr(model, "name", None)
        if not isinstance(name, str) or not name:
            kind = type(model).__name__
            raise UsageError(f"{kind}.name: нужна непустая строка, а не {name!r}")
        return name


def checked_settings(model: object) -> Mapping[str, str] | None:
    """The settings of a model, of whichever kind, as strings; None when it has none.

    Raises:
        UsageError: If they are not a mapping, or its code raises instead.
    """
    with asking(model, "settings"):
        settings: object = getattr(model, "settings", _MISSING)
        if settings is _MISSING:
            return None
        if not isinstance(settings, Mapping):
            kind = type(model).__name__
            raise UsageError(f"{kind}.settings: нужен словарь, а не {settings!r}")
        return {str(name): str(value) for name, value in settings.items()}


def _warnings(recognizer: Recognizer) -> tuple[str, ...]:
    kind = type(recognizer).__name__
    with asking(recognizer, "warnings"):
        warnings: object = getattr(recognizer, "warnings", ())
        if isinstance(warnings, str) or not isinstance(warnings, Sequence):
            raise UsageError(f"{kind}.warnings: нужен список строк, а не {warnings!r}")
        if strange := [warning for warning in warnings if not isinstance(warning, str)]:
            raise UsageError(f"{kind}.warnings: нужны строки, а не {strange[0]!r}")
        return tuple(warnings)


@contextmanager
def asking(model: object, attribute: str) -> Iterator[None]:
    """What the model's own code raises meanwhile is a `UsageError` that names the attribute.

    Also an exception that would end the program: the `SystemExit` of a library it uses.
    """
    try:
        yield
    except UsageError:
        raise
    except (Exception, SystemExit) as error:
        kind = type(model).__name__
        raise UsageError(f"{kind}.{attribute}: {sentence_of(error)}") from error
