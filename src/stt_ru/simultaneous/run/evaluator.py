"""The loop: hand each instance to the agent piece by piece, note what it writes, score it all."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

from stt_ru.clock import SYSTEM_CLOCK
from stt_ru.defaults import MAX_TAIL_STEPS
from stt_ru.errors import USERS_FAILURES, ReportError, SttRuError, UsageError, sentence_of
from stt_ru.simultaneous.core.instance import Instance, OutputError
from stt_ru.simultaneous.core.record import InstanceRecord
from stt_ru.simultaneous.core.segments import Segment
from stt_ru.simultaneous.run.folder import RunFolder
from stt_ru.simultaneous.scorers.scoring import Scores, score_instances

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from stt_ru.clock import Clock
    from stt_ru.simultaneous.agents import GenericAgent
    from stt_ru.simultaneous.core.dataset import Dataset
    from stt_ru.simultaneous.core.record import LatencyUnit
    from stt_ru.simultaneous.core.segments import DataType

TEXT_SEGMENT_WORDS: Final = 1
SPEECH_SEGMENT_MS: Final = 10

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationOptions:
    """How an evaluation runs.

    Attributes:
        source_segment_size: Words, or ms of audio, handed over at a time; None for 1 word, 10 ms.
        eval_latency_unit: What has a delay.
        target_type: What the agent writes; None for what the agent says.
        start_index: First instance.
        end_index: One past the last instance; None or -1 for all.
        output: Folder of the run; None to keep nothing.
        continue_unfinished: Go on with the run in ``output``.
        max_tail_steps: How often an agent is asked after the source has ended.
        config: Written to ``config.yaml`` besides the above.
    """

    source_segment_size: float | None = None
    eval_latency_unit: LatencyUnit = "word"
    target_type: DataType | None = None
    start_index: int = 0
    end_index: int | None = None
    output: Path | None = None
    continue_unfinished: bool = False
    max_tail_steps: int = MAX_TAIL_STEPS
    config: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_args(cls, args: Any) -> Self:
        """The options that a command line's namespace has; the rest by default."""
        names = cls.__dataclass_fields__
        given = {name: getattr(args, name) for name in names if hasattr(args, name)}
        if isinstance(given.get("output"), str):
            given["output"] = Path(given["output"])
        return cls(**given)


class LiveInstance(Protocol):
    """What an agent works on: an `Instance` here, or one behind a server."""

    @property
    def finish_prediction(self) -> bool:
        """Whether the output has ended."""
        ...

    @property
    def source_finished(self) -> bool:
        """Whether all of the source has been read."""
        ...

    def send_source(self, segment_size: float) -> Segment:
        """The next piece of the source."""
        ...

    def receive_prediction(self, segment: Segment) -> None:
        """Note a piece of output."""
        ...


class AgentError(SttRuError):
    """An agent broke the rules."""


def run_instance(
    agent: GenericAgent, instance: LiveInstance, segment_size: float, max_tail_steps: int
) -> None:
    """Let the agent work on one instance to its end.

    Raises:
        AgentError: If it answers with no segment, or does not finish in ``max_tail_steps`` asks
            after the source has ended.
        OutputError: If it writes what the instance cannot take.
    """
    agent.reset()
    tail_steps = 0
    while not instance.finish_prediction:
        if instance.source_finished:
            tail_steps += 1
            if tail_steps > max_tail_steps:
                raise AgentError(
                    f"агент не закончил и после {max_tail_steps} запросов за концом источника: "
                    "WriteAction(…, finished=True) так и не пришёл (предел задаёт "
                    "--max-tail-steps)"
                )
        segment = instance.send_source(segment_size)
        output = agent.pushpop(segment)
        if not isinstance(output, Segment):
            raise AgentError(f"агент ответил {output!r}, а нужен сегмент")
        instance.receive_prediction(output)


class EvaluationProgress(Protocol):
    """Told about each instance that is done."""

    def __call__(self, done: int, total: int, record: InstanceRecord | None) -> None:
        """``done`` of ``total`` instances are; ``record`` is the last.

        It is None for an instance of an earlier run, and for one that a server has.
        """
        ...


class SentenceLevelEvaluator:
    """Evaluates an agent on a dataset, an instance at a time.

    Args:
        dataloader: The data.
        quality_scorers: By name, see `stt_ru.simultaneous.scorers.make_quality_scorers`.
        latency_scorers: By name.
        args: `EvaluationOptions`, or a namespace with their names.
        clock: Wall time for ``elapsed``.

    Attributes:
        instances: What was done so far, by index.
        unsaved: Why the scores could not be written; None when they were, or need not be.

    Raises:
        UsageError: If the options do not fit the data.
    """

    def __init__(
        self,
        dataloader: Dataset,
        quality_scorers: Mapping[str, Any],
        latency_scorers: Mapping[str, Any],
        args: Any = None,
        *,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        if not isinstance(args, EvaluationOptions):
            args = EvaluationOptions.from_args(args)
        self.options: EvaluationOptions = args
        self.dataset = dataloader
        self.quality_scorers = quality_scorers
        self.latency_scorers = latency_scorers
        self.instances: dict[int, InstanceRecord] = {}
        self.unsaved: ReportError | None = None
        self._clock = clock
        self.indices = index_range(len(dataloader), args.start_index, args.end_index)
        self.segment_size = segment_size_for(dataloader.source_type, args.source_segment_size)

    def __call__(self, agent: GenericAgent, progress: EvaluationProgress | None = None) -> Scores:
        """Run the agent on every instance and score what it wrote.

        An instance in which the agent fails has its ``error`` set, and the next one follows.

        Args:
            agent: Reads what the data has.
            progress: Told about each instance.

        Raises:
            UsageError: If the agent reads or writes something else than is there.
            ReportError: If the log of instances cannot be written.
        """
        target_type = check_agent(agent, self.dataset.source_type, self.options.target_type)
        folder = None
        if self.options.output is not None:
            folder = RunFolder(self.options.output)
            self._open(folder, target_type)
        is_first_failure = True
        for done, index in enumerate(self.indices):
            record = None
            if index not in self.instances:
                record = self._run(agent, index, target_type, folder, show_trace=is_first_failure)
                is_first_failure = is_first_failure and record.error is None
                self.instances[index] = record
                if folder is not None:
                    folder.add(record)
            if progress is not None:
                progress(done + 1, len(self.indices), record)
        self.instances = {index: self.instances[index] for index in self.indices}
        scores = self.score()
        if folder is not None:
            try:
                folder.write_scores(scores, self.instances)
            except ReportError as error:  # the scores are there, and worth more than the file
                self.unsaved = error
        return scores

    def score(self) -> Scores:
        """Score what has been done so far."""
        return score_instances(
            self.instances,
            self.quality_scorers,
            self.latency_scorers,
            source_type=self.dataset.source_type,
        )

    def _open(self, folder: RunFolder, target_type: DataType) -> None:
        config = {
            "source_type": self.dataset.source_type,
            "target_type": target_type,
            "source_segment_size": self.segment_size,
            "eval_latency_unit": self.options.eval_latency_unit,
            "data": self.dataset.fingerprint,
            "instances": len(self.dataset),
            **self.options.config,
        }
        if self.options.continue_unfinished:
            done = folder.resume(config, self.options.eval_latency_unit)
            self.instances = {index: done[index] for index in self.indices if index in done}
        else:
            folder.begin(config)

    def _run(
        self,
        agent: GenericAgent,
        index: int,
        target_type: DataType,
        folder: RunFolder | None,
        *,
        show_trace: bool,
    ) -> InstanceRecord:
        try:
            source = self.dataset.load(index)
        except SttRuError as error:
            return InstanceRecord(
                index=index,
                source_type=self.dataset.source_type,
                target_type=target_type,
                source=self.dataset.name(index),
                reference=self.dataset.reference(index),
                latency_unit=self.options.eval_latency_unit,
                is_finished=False,
                error=str(error),
            )
        instance = Instance(
            index,
            source,
            self.dataset.reference(index),
            target_type=target_type,
            latency_unit=self.options.eval_latency_unit,
            clock=self._clock,
        )
        instance.error = _failure_of(
            lambda: run_instance(agent, instance, self.segment_size, self.options.max_tail_steps),
            what=f"пример {index}",
            show_trace=show_trace,
        )
        audio = folder.write_speech(instance) if folder is not None else None
        return instance.record(audio)


def _failure_of(run: Callable[[], None], *, what: str, show_trace: bool) -> str | None:
    """What went wrong in the agent, a sentence; None when nothing did."""
    try:
        run()
    except (AgentError, OutputError) as error:
        return str(error)
    except ReportError:
        raise
    except USERS_FAILURES as error:
        if show_trace:  # the agent is user-supplied code, and once is enough
            logger.warning("%s: агент завершился ошибкой", what, exc_info=True)
        return sentence_of(error)
    return None


def check_agent(
    agent: GenericAgent, source_type: DataType, target_type: DataType | None
) -> DataType:
    """What the agent writes.

    Raises:
        UsageError: If it reads something else than ``source_type``, or writes something else than
            ``target_type`` where that is given.
    """
    words = {"text": "текст", "speech": "речь"}
    if agent.source_type not in (None, source_type):
        raise UsageError(
            f"агент {type(agent).__name__} читает {words[agent.source_type]}, а источник – "
            f"{words[source_type]}"
        )
    if None not in (agent.target_type, target_type) and agent.target_type != target_type:
        raise UsageError(
            f"агент {type(agent).__name__} пишет {agent.target_type}, а --target-type {target_type}"
        )
    return agent.target_type or target_type or "text"


def index_range(total: int, start: int, end: int | None) -> range:
    """The instances asked for.

    Raises:
        UsageError: If it is empty.
    """
    stop = total if end is None or end < 0 else min(end, total)
    if not 0 <= start < stop:
        raise UsageError(
            f"--start-index {start}, --end-index {stop}: примеров {total}, в этих пределах нет "
            "ни одного"
        )
    return range(start, stop)


def segment_size_for(source_type: DataType, asked: float | None) -> float:
    """Words, or ms, of a piece: as asked, or by default.

    Raises:
        UsageError: If it is not positive.
    """
    if asked is None:
        return SPEECH_SEGMENT_MS if source_type == "speech" else TEXT_SEGMENT_WORDS
    if not asked > 0:
        raise UsageError(f"--source-segment-size {asked}: нужно число больше 0")
    return asked


def score_log(
    records: Mapping[int, InstanceRecord],
    quality_scorers: Mapping[str, Any],
    latency_scorers: Mapping[str, Any],
) -> Scores:
    """Score a log again, without the agent.

    Args:
        records: Of `stt_ru.simultaneous.run.log.read_log`.
        quality_scorers: By name.
        latency_scorers: By name.
    """
    is_speech = any(record.source_type == "speech" for record in records.values())
    source_type: DataType = "speech" if is_speech else "text"
    return score_instances(records, quality_scorers, latency_scorers, source_type=source_type)
