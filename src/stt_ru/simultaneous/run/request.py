"""A run as a user asks for it: what is asked, whether it fits together, and all that it needs."""

from __future__ import annotations

import difflib
import logging
import re
from argparse import ArgumentParser, Namespace
from dataclasses import dataclass, field, fields, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final, NoReturn

from stt_ru.defaults import (
    DEFAULT_MODEL,
    LATENCY_METRICS,
    MAX_TAIL_STEPS,
    QUALITY_METRICS,
    TOKENIZER,
)
from stt_ru.errors import USERS_FAILURES, SttRuError, UsageError, sentence_of
from stt_ru.simultaneous.agents.loading import load_agent_class
from stt_ru.simultaneous.core.dataset import check_sources, load_dataset
from stt_ru.simultaneous.run.evaluator import (
    EvaluationOptions,
    SentenceLevelEvaluator,
    check_agent,
    index_range,
    score_log,
    segment_size_for,
)
from stt_ru.simultaneous.run.folder import RunFolder
from stt_ru.simultaneous.run.log import LOG_NAME, read_log
from stt_ru.simultaneous.scorers.scoring import (
    ScorerOptions,
    Scores,
    make_latency_scorers,
    make_quality_scorers,
    take_notices,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from stt_ru.recognition.recognizer import Recognizer
    from stt_ru.simultaneous.agents import GenericAgent
    from stt_ru.simultaneous.core.dataset import Dataset
    from stt_ru.simultaneous.core.record import InstanceRecord, LatencyUnit
    from stt_ru.simultaneous.core.segments import DataType
    from stt_ru.simultaneous.run.client import RemoteSession

_DECIDED_BY_SERVER: Final = {
    "manifest": "манифест",
    "source": "--source",
    "target": "--target",
    "source_type": "--source-type",
    "target_type": "--target-type",
    "quality_metrics": "--quality-metrics",
    "latency_metrics": "--latency-metrics",
    "computation_aware": "--computation-aware",
    "eval_latency_unit": "--eval-latency-unit",
    "no_use_ref_len": "--no-use-ref-len",
    "sacrebleu_tokenizer": "--sacrebleu-tokenizer",
    "asr_model": "--asr-model",
    "asr_model_dir": "--asr-model-dir",
    "asr_vad_dir": "--asr-vad-dir",
    "output": "--output",
    "continue_unfinished": "--continue-unfinished",
    "score_only": "--score-only",
}

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """What a user asks for; the names are those of the options of ``stt-ru simul``.

    Attributes:
        manifest: Recordings with their texts, instead of ``source`` and ``target``.
        source: Texts, or paths of recordings, a line each.
        target: References, a line each.
        source_type: What is in ``source``; None for what the agent reads.
        target_type: What the agent writes; None for what it says of itself.
        start_index: First instance.
        end_index: One past the last; -1 for all.
        agent: ``agent.py`` or ``module:Class``.
        agent_args: Words of the command line that are the agent's.
        source_segment_size: Words, or ms, at a time; None for 1 word, 10 ms.
        max_tail_steps: How often an agent is asked after the source has ended.
        quality_metrics: Names.
        latency_metrics: Names.
        computation_aware: Whether each latency measure comes with its ``_CA``.
        eval_latency_unit: What has a delay.
        use_ref_len: Whether AL, LAAL and AP take the reference length.
        sacrebleu_tokenizer: How BLEU cuts texts into words.
        asr_model: Hears speech that was written, for ASR_BLEU; None for the default.
        asr_model_dir: Its files.
        asr_vad_dir: Files of its VAD.
        output: Folder of the run, or with ``score_only`` a log.
        score_only: Score the log again, without the agent.
        continue_unfinished: Go on with the run in ``output``.
        own_options: Names of the command's options, to tell which one a misspelt name is near.
    """

    manifest: Path | None = None
    source: Path | None = None
    target: Path | None = None
    source_type: DataType | None = None
    target_type: DataType | None = None
    start_index: int = 0
    end_index: int = -1
    agent: str | None = None
    agent_args: Sequence[str] = ()
    source_segment_size: float | None = None
    max_tail_steps: int = MAX_TAIL_STEPS
    quality_metrics: Sequence[str] = QUALITY_METRICS
    latency_metrics: Sequence[str] = LATENCY_METRICS
    computation_aware: bool = False
    eval_latency_unit: LatencyUnit = "word"
    use_ref_len: bool = True
    sacrebleu_tokenizer: str = TOKENIZER
    asr_model: str | None = None
    asr_model_dir: Path | None = None
    asr_vad_dir: Path | None = None
    output: Path | None = None
    score_only: bool = False
    continue_unfinished: bool = False
    own_options: Sequence[str] = ()

    def namespace(self) -> Namespace:
        """As agents and users' scorers get it, with what SimulEval's also expect."""
        given = {part.name: getattr(self, part.name) for part in fields(self)}
        del given["agent_args"], given["own_options"]
        given["quality_metrics"] = list(self.quality_metrics)
        given["latency_metrics"] = list(self.latency_metrics)
        return Namespace(**given, no_use_ref_len=not self.use_ref_len, device="cpu")

    def config(self) -> dict[str, Any]:
        """What ``config.yaml`` says besides the data and the pieces."""
        return {
            "agent": self.agent,
            "agent_options": list(self.agent_args),
            "manifest": self.manifest and str(self.manifest),
            "source": self.source and str(self.source),
            "target": self.target and str(self.target),
            "quality_metrics": list(self.quality_metrics),
            "latency_metrics": list(self.latency_metrics),
            "computation_aware": self.computation_aware,
            "use_ref_len": self.use_ref_len,
            "sacrebleu_tokenizer": self.sacrebleu_tokenizer,
            "max_tail_steps": self.max_tail_steps,
            "version": version("stt-ru"),
        }


@dataclass(frozen=True, slots=True)
class Run:
    """A run that only has to be started: ``run.evaluator(run.agent, progress)``.

    Attributes:
        evaluator: With data and scorers.
        agent: That reads this data.
        notices: What the user should know of, sentences in Russian.
    """

    evaluator: SentenceLevelEvaluator
    agent: GenericAgent
    notices: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Rescoring:
    """A log that was scored again.

    Attributes:
        scores: Of all instances.
        records: By index.
        folder: Of the run, where the scores belong; None if only a log was named.
        notices: As of `Run`.
    """

    scores: Scores
    records: Mapping[int, InstanceRecord]
    folder: RunFolder | None = None
    notices: Sequence[str] = field(default=())


def prepare_run(request: RunRequest) -> Run:
    """Check all that is asked for, the cheap things first, and load the agent last.

    Raises:
        UsageError: If something is wrong, missing, or does not fit the rest.
        SttRuError: If the agent cannot be made.
    """
    check_sources(request.manifest, request.source, request.target, request.source_type)
    if request.continue_unfinished and request.output is None:
        raise UsageError("--continue-unfinished: укажите --output с начатым прогоном")
    name = _agent_of(request)
    # The agent may change the current folder, when it is loaded and at any step.
    request = replace(
        request,
        output=request.output and request.output.absolute(),
        asr_model_dir=request.asr_model_dir and request.asr_model_dir.absolute(),
        asr_vad_dir=request.asr_vad_dir and request.asr_vad_dir.absolute(),
    )
    notices: list[str] = []
    dataset: Dataset | None = None
    if request.manifest is not None or request.source_type is not None:
        dataset = _dataset(request, notices)
    kind = load_agent_class(name)
    args = _args_of(kind, request)
    if dataset is None:
        source_type = getattr(kind, "source_type", None)
        if source_type not in ("text", "speech"):
            raise UsageError("не понять, что в --source: добавьте --source-type text или speech")
        dataset = _dataset(replace(request, source_type=source_type), notices)
    _check_computation_aware(request, has_speech=dataset.source_type == "speech")
    index_range(len(dataset), request.start_index, request.end_index)
    args.source_type = dataset.source_type
    args.source_segment_size = segment_size_for(dataset.source_type, request.source_segment_size)
    if request.output is not None:
        RunFolder(request.output)
    _check_asr_bleu(request, kind)
    quality, latency = _scorers(request, args)
    notices += take_notices()
    agent = make_agent(kind, args)
    check_agent(agent, dataset.source_type, request.target_type)
    options = EvaluationOptions(
        source_segment_size=args.source_segment_size,
        eval_latency_unit=request.eval_latency_unit,
        target_type=request.target_type,
        start_index=request.start_index,
        end_index=request.end_index,
        output=request.output,
        continue_unfinished=request.continue_unfinished,
        max_tail_steps=request.max_tail_steps,
        config=request.config(),
    )
    return Run(SentenceLevelEvaluator(dataset, quality, latency, options), agent, notices)


def rescore(request: RunRequest) -> Rescoring:
    """Score the log of an earlier run again.

    Raises:
        UsageError: If there is no log, or what is asked for does not fit it.
    """
    if request.output is None:
        raise UsageError("--score-only: укажите --output с каталогом прогона или журналом")
    refuse_unknown(request.agent_args, request.own_options)
    is_folder = request.output.is_dir()
    log = request.output / LOG_NAME if is_folder else request.output
    if request.agent is not None:  # for the measures that its file registers
        load_agent_class(request.agent)
    records = read_log(log, latency_unit=request.eval_latency_unit)
    if not records:
        raise UsageError(f"в журнале {log} нет ни одного примера")
    has_speech = any(record.source_type == "speech" for record in records.values())
    _check_computation_aware(request, has_speech=has_speech)
    quality, latency = _scorers(replace(request, output=log.parent), request.namespace())
    scores = score_log(records, quality, latency)
    folder = RunFolder(request.output) if is_folder else None
    notices = take_notices()
    if request.manifest is not None or request.source or request.target:
        notices.append("источники и эталоны взяты из журнала, а не из того, что указано сейчас")
    return Rescoring(scores, records, folder, notices)


def check_remote(request: RunRequest, given: Collection[str]) -> None:
    """Make sure that nothing is asked for which only the server can decide.

    Args:
        request: What is asked for.
        given: Names of the parameters of ``stt-ru simul`` that the user gave.

    Raises:
        UsageError: If something is, or there is no agent.
    """
    wrong = [option for name, option in _DECIDED_BY_SERVER.items() if name in given]
    if wrong:
        raise UsageError(
            "--remote-address, --remote-port: данные, показатели и журнал – у сервера, поэтому "
            f"здесь не нужны: {', '.join(wrong)}"
        )
    _agent_of(request)


def prepare_remote_run(
    request: RunRequest, session: RemoteSession
) -> tuple[GenericAgent, EvaluationOptions]:
    """The agent for a server's data, and how it is run.

    Raises:
        UsageError: If the agent is not there or does not take its options.
        SttRuError: If it cannot be made.
    """
    kind = load_agent_class(_agent_of(request))
    args = _args_of(kind, request)
    args.source_type = session.data_type
    options = EvaluationOptions(
        source_segment_size=request.source_segment_size,
        start_index=request.start_index,
        end_index=request.end_index,
        max_tail_steps=request.max_tail_steps,
    )
    return make_agent(kind, args), options


def refuse_unknown(args: Sequence[str], own_options: Sequence[str]) -> None:
    """Refuse words of the command line that nobody knows.

    Raises:
        UsageError: If there are any; it names the first, and options that look like it.
    """
    unknown = [arg for arg in args if arg.startswith("-")] or list(args)
    if not unknown:
        return
    name = unknown[0].partition("=")[0]
    near = difflib.get_close_matches(name, own_options)
    hint = f"; похожие: {', '.join(near)}" if near else ""
    raise UsageError(f"нет параметра {name} ни у simul, ни у агента{hint}")


def make_agent(kind: type[GenericAgent], args: Namespace) -> GenericAgent:
    """Make an agent of a user-supplied class; its traceback goes to the log.

    Raises:
        SttRuError: If it cannot be made.
    """
    try:
        return kind.from_args(args)
    except SttRuError:
        raise
    except USERS_FAILURES as error:
        logger.warning("агент %s не создан", kind.__name__, exc_info=True)
        raise SttRuError(f"агент не создан: {sentence_of(error)}") from error


class _AgentParser(ArgumentParser):
    """argparse for the agent's own options, whose errors are ours."""

    def error(self, message: str) -> NoReturn:
        for pattern, sentence in _ARGPARSE_IN_RUSSIAN:
            if found := re.fullmatch(pattern, message):
                groups = [_TYPES.get(group, group) for group in found.groups()]
                raise UsageError(f"параметры агента: {sentence.format(*groups)}")
        raise UsageError(f"параметры агента: {message}")


# What the standard library says in English.
_ARGPARSE_IN_RUSSIAN: Final = (
    (r"argument (\S+): invalid (\w+) value: (.+)", "{0}: {2} не годится, нужно {1}"),
    (r"argument (\S+): invalid choice: (.+) \(choose from (.+)\)", "{0}: нет {1}; есть: {2}"),
    (r"argument (\S+): expected (?:one|at least one|\d+) arguments?", "после {0} нужно значение"),
    (r"the following arguments are required: (.+)", "не указано: {0}"),
)
_TYPES: Final = {"int": "целое число", "float": "число"}


def _agent_of(request: RunRequest) -> str:
    if request.agent is None:
        raise UsageError("не указан --agent: файл агента .py или МОДУЛЬ:КЛАСС")
    return request.agent


def _args_of(kind: type[GenericAgent], request: RunRequest) -> Namespace:
    """The request with the agent's own options, as the agent gets them."""
    parser = _AgentParser(prog=f"--agent {request.agent}", add_help=False, allow_abbrev=False)
    try:
        kind.add_args(parser)
        own, unknown = parser.parse_known_args(list(request.agent_args))
    except SttRuError:
        raise
    except USERS_FAILURES as error:
        raise UsageError(
            f"--agent {request.agent}: параметры агента: {sentence_of(error)}"
        ) from error
    refuse_unknown(unknown, request.own_options)
    taken = sorted({part.name for part in fields(request)} & set(vars(own)))
    if taken:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in taken)
        raise UsageError(
            f"--agent {request.agent}: параметры агента заняты самим simul: {names}; дайте им "
            "другие имена"
        )
    return Namespace(**{**vars(request.namespace()), **vars(own)})


def _dataset(request: RunRequest, notices: list[str]) -> Dataset:
    return load_dataset(
        request.manifest,
        request.source,
        request.target,
        request.source_type or "text",
        warn=notices.append,
    )


def _check_computation_aware(request: RunRequest, *, has_speech: bool) -> None:
    if request.computation_aware and not has_speech:
        raise UsageError(
            "--computation-aware: у текстового источника нет времени, есть только слова"
        )


def _check_asr_bleu(request: RunRequest, kind: type[GenericAgent]) -> None:
    if "ASR_BLEU" not in request.quality_metrics:
        return
    if (request.target_type or getattr(kind, "target_type", None)) == "text":
        raise UsageError("ASR_BLEU слушает речь агента, а этот агент пишет текст")
    if request.output is None:
        raise UsageError("ASR_BLEU: укажите --output, куда записать речь агента")


def _scorers(request: RunRequest, args: Namespace) -> tuple[dict[str, Any], dict[str, Any]]:
    options = ScorerOptions(
        tokenizer=request.sacrebleu_tokenizer,
        use_ref_len=request.use_ref_len,
        computation_aware=request.computation_aware,
        recognizer=lambda: _recognizer(request),
        folder=str(request.output or "."),
        args=args,
    )
    latency = make_latency_scorers(request.latency_metrics, options)
    return make_quality_scorers(request.quality_metrics, options), latency


def _recognizer(request: RunRequest) -> Recognizer:
    from stt_ru.recognition.transcriber import Transcriber  # heavy, and only ASR_BLEU hears

    return Transcriber(
        request.asr_model or DEFAULT_MODEL,
        model_dir=request.asr_model_dir,
        vad_dir=request.asr_vad_dir,
    )
