"""Any sequence of requests leaves the state machine consistent."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from stt_ru.simultaneous.server.corpus import Corpus
from stt_ru.simultaneous.server.errors import ProtocolError
from stt_ru.simultaneous.server.session import Session
from stt_ru.simultaneous.server.store import SessionStore
from tests.fakes import FakeClock
from tests.simultaneous.server.data import SETTINGS, TEXTS, Tones

LENGTHS = (1000, 160, 37)
SIZES = st.none() | st.integers(-5, 120)
OFFSETS = st.none() | st.integers(0, 70)
BODIES = st.sampled_from(["раз", "раз два", "</s>", "раз </s>", "", " ", "</s> раз"])
INDICES = st.integers(-1, 3)


class Twin:
    """What an instance should be, told plainly."""

    def __init__(self, size: int, unit: float) -> None:
        self.size = size
        self.unit = unit  # milliseconds, or words, of a sample or a word
        self.position = 0
        self.words: list[str] = []
        self.delays: list[float] = []
        self.is_done = False


class Sessions(RuleBasedStateMachine):
    """Several sessions of one server, and a twin of every instance."""

    sessions = Bundle("sessions")

    def __init__(self) -> None:
        super().__init__()
        self.data = self.make_data()
        self.clock = FakeClock()
        ids = iter(f"{i:016x}" for i in range(10_000))
        self.store = SessionStore(
            Corpus(self.data), SETTINGS, clock=self.clock, new_id=lambda: next(ids)
        )
        self.twins: dict[str, dict[int, Twin]] = {}

    def make_data(self) -> Tones:
        return Tones(LENGTHS)

    def twins_of(self, session: Session) -> dict[int, Twin]:
        if session.session_id not in self.twins:
            self.twins[session.session_id] = {
                i: Twin(length, 1 / 16) for i, length in enumerate(LENGTHS)
            }
        return self.twins[session.session_id]

    @rule(target=sessions)
    def start(self) -> Session:
        return self.store.start()

    @rule(target=sessions)
    def newest(self) -> Session:
        expected = self.store.all()[:1]
        found = self.store.find()
        assert not expected or found is expected[0]
        return found

    @rule(seconds=st.integers(0, 5))
    def wait(self, seconds: int) -> None:
        self.clock.advance(seconds)

    @rule(session=sessions, index=INDICES, size=SIZES, offset=OFFSETS)
    def read(self, session: Session, index: int, size: int | None, offset: int | None) -> None:
        twin = self.twins_of(session).get(index)
        try:
            answer = session.read(index, segment_size=size, offset=offset)
        except ProtocolError:
            assert (
                twin is None
                or twin.is_done
                or (size is not None and size <= 0)
                or (offset is not None and offset * 16 > twin.position)
            )
            return
        assert twin is not None
        start = twin.position if offset is None else min(offset * 16, twin.size)
        expected = list(range(1000 * index + start, 1000 * index + twin.size))
        assert answer["segment"] == expected[: len(answer["segment"])]
        end = start + len(answer["segment"])
        assert answer["finished"] == (end == twin.size)
        twin.position = max(twin.position, end)

    @rule(session=sessions, index=INDICES, body=BODIES)
    def write(self, session: Session, index: int, body: str) -> None:
        twin = self.twins_of(session).get(index)
        words = body.split()
        try:
            session.write(index, body)
        except ProtocolError:
            assert twin is None or twin.is_done or not words or "</s>" in words[:-1]
            return
        assert twin is not None
        assert not twin.is_done
        if words[-1] == "</s>":
            twin.is_done = True
            words.pop()
        twin.words += words
        twin.delays += [twin.position * twin.unit] * len(words)

    @invariant()
    def every_instance_is_as_its_twin(self) -> None:
        for session in self.store.all():
            twins = self.twins_of(session)
            assert session.finished == sum(twin.is_done for twin in twins.values())
            for index, twin in twins.items():
                shown = session.result(index)
                assert shown["finished"] == twin.is_done
                assert shown["prediction"] == " ".join(twin.words)
                assert shown["delays"] == twin.delays
                assert shown["elapsed"] == sorted(shown["elapsed"])
                assert all(e >= d for e, d in zip(shown["elapsed"], twin.delays, strict=True))
            assert session.result()["finished"] == session.finished


TestSessions = Sessions.TestCase
TestSessions.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


class TextSessions(RuleBasedStateMachine):
    """One session of texts: words come in order, each once, however they are asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.session = SessionStore(Corpus(TEXTS), SETTINGS, clock=FakeClock()).start()
        self.read_so_far = [0, 0, 0]
        self.written: list[list[float]] = [[], [], []]
        self.is_done = [False] * 3

    @rule(index=st.integers(0, 2), offset=st.none() | st.integers(0, 4))
    def read(self, index: int, offset: int | None) -> None:
        words = TEXTS.load(index).words
        try:
            answer = self.session.read(index, offset=offset)
        except ProtocolError:
            assert self.is_done[index] or (offset or 0) > self.read_so_far[index]
            return
        at = self.read_so_far[index] if offset is None else offset
        assert answer["segment_id"] == at
        assert answer["segment"] == [*words, "</s>"][at]
        self.read_so_far[index] = min(len(words), max(self.read_so_far[index], at + 1))

    @rule(index=st.integers(0, 2), body=BODIES)
    def write(self, index: int, body: str) -> None:
        try:
            answer = self.session.write(index, body)
        except ProtocolError:
            return
        assert not self.is_done[index]
        self.written[index] += [self.read_so_far[index]] * answer["words"]
        self.is_done[index] = answer["finished"]

    @invariant()
    def delays_are_what_was_read(self) -> None:
        for index in range(3):
            assert self.session.result(index)["delays"] == self.written[index]


TestTextSessions = TextSessions.TestCase
TestTextSessions.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
