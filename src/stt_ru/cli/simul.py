"""The command ``stt-ru simul``."""

from __future__ import annotations

import difflib
import re
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn

import typer

from stt_ru.cli.interrupts import Interrupted
from stt_ru.cli.options import (
    DATA,
    DEFAULT_MODEL,
    LATENCY,
    METRICS,
    QUALITY,
    TOKENIZER,
    WORK,
    LatencyUnitName,
    NoReferenceLength,
    SourceFile,
    SpeechOrTexts,
    TargetFile,
    Tokenizer,
    metrics_option,
    option,
    source_type_option,
)
from stt_ru.cli.russian import RussianCommand, number, one_of, whole_number
from stt_ru.cli.streams import print_answer, print_message
from stt_ru.errors import SttRuError, UsageError

if TYPE_CHECKING:
    from stt_ru.simultaneous.agents import GenericAgent
    from stt_ru.simultaneous.client import RemoteEvaluation
    from stt_ru.simultaneous.dataset import Dataset
    from stt_ru.simultaneous.evaluator import EvaluationProgress
    from stt_ru.simultaneous.record import InstanceRecord, LatencyUnit
    from stt_ru.simultaneous.scorers import ScorerOptions, Scores
    from stt_ru.simultaneous.segments import DataType
    from stt_ru.transcriber import Recognizer

# Written here as well as in the library, whose modules are heavy; a test keeps them equal.
MAX_TAIL_STEPS: Final = 1000
REMOTE_ADDRESS: Final = "localhost"
REMOTE_PORT: Final = 12321

MANY_VALUED: Final = ("--quality-metrics", "--latency-metrics")

_AGENT = "Агент"
_REMOTE = "Сервер stt-ru serve"

_METRIC_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(,[A-Za-z_][A-Za-z0-9_]*)*,?")
_LINE_EVERY_S: Final = 10.0


class MetricsCommand(RussianCommand):
    """A command whose metric options take several names after one flag: ``--latency-metrics A B``.

    A comma list and a repeated flag mean the same.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Repeat the flag for each of its names, then parse as usual."""
        parsed: list[str] = super().parse_args(ctx, one_name_a_flag(args))
        return parsed


class SimulCommand(MetricsCommand):
    """Leaves options that it does not know to the agent: ``ctx.meta["agent_args"]``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Set the agent's options aside, then parse as usual."""
        takes_value: dict[str, bool] = {}
        for parameter in self.get_params(ctx):
            if parameter.param_type_name != "argument":
                is_flag = bool(getattr(parameter, "is_flag", False))
                for name in (*parameter.opts, *parameter.secondary_opts):
                    takes_value[name] = not is_flag
        own, agents = set_agent_options_aside(args, takes_value)
        ctx.meta["agent_args"] = agents
        return super().parse_args(ctx, own)


def one_name_a_flag(args: Sequence[str]) -> list[str]:
    """``--latency-metrics A B,C`` as ``--latency-metrics A --latency-metrics B …``.

    Words after the flag are names while they look like ones; a file has a dot or a slash.

    Example:
        >>> one_name_a_flag(["--latency-metrics", "AL", "LAAL,AP", "eval.csv"])
        ['--latency-metrics', 'AL', '--latency-metrics', 'LAAL,AP', 'eval.csv']
    """
    rewritten: list[str] = []
    flag = ""
    for arg in args:
        if arg.startswith("-"):
            flag = arg if arg in MANY_VALUED else ""
            rewritten.append(arg)
        elif flag and rewritten[-1] == flag:
            rewritten.append(arg)
        elif flag and _METRIC_NAME.fullmatch(arg):
            rewritten += [flag, arg]
        else:
            flag = ""
            rewritten.append(arg)
    return rewritten


def set_agent_options_aside(
    args: Sequence[str], takes_value: dict[str, bool]
) -> tuple[list[str], list[str]]:
    """The command's own arguments, and those that only the agent can know, with their values.

    Args:
        args: Of the command line.
        takes_value: Names of the command's own options, and whether a value follows.

    Example:
        >>> set_agent_options_aside(
        ...     ["a.csv", "--waitk", "3", "--agent", "x.py"], {"--agent": True}
        ... )
        (['a.csv', '--agent', 'x.py'], ['--waitk', '3'])
    """
    own: list[str] = []
    agents: list[str] = []
    target = own
    is_value = False
    for arg in args:
        if is_value:
            own.append(arg)
            is_value = False
        elif arg.startswith("-") and not re.fullmatch(r"-\d+(\.\d+)?", arg):
            name, equals, _ = arg.partition("=")
            target = own if name in takes_value else agents
            target.append(arg)
            is_value = takes_value.get(name, False) and not equals
        else:
            target.append(arg)
    return own, agents


def split_names(values: Sequence[str] | None, default: Sequence[str]) -> list[str]:
    """Names of measures from repeated flags and comma lists; the default when none was given."""
    if not values:
        return list(default)
    return [name for value in values for name in value.split(",") if name]


def simul(
    ctx: typer.Context,
    manifest: SpeechOrTexts = None,
    source: SourceFile = None,
    target: TargetFile = None,
    source_type: Annotated[
        str | None,
        source_type_option("Что в --source (по умолчанию то, что читает агент)."),
    ] = None,
    target_type: Annotated[
        str | None,
        option(
            "--target-type",
            metavar="text|speech",
            panel=DATA,
            parser=one_of("text", "speech"),
            help="Что пишет агент (по умолчанию то, что он говорит о себе).",
        ),
    ] = None,
    start_index: Annotated[
        int,
        option(
            "--start-index",
            metavar="N",
            panel=DATA,
            parser=whole_number(0),
            help="Первый пример, счёт с 0 (по умолчанию 0).",
        ),
    ] = 0,
    end_index: Annotated[
        int,
        option(
            "--end-index",
            metavar="N",
            panel=DATA,
            parser=whole_number(-1),
            help="Пример, на котором остановиться, сам он не входит (по умолчанию -1: до конца).",
        ),
    ] = -1,
    agent: Annotated[
        str | None,
        option(
            "--agent",
            metavar="ФАЙЛ.py|МОДУЛЬ:КЛАСС",
            panel=_AGENT,
            help="Агент: файл с классом под @entrypoint или класс модуля. Параметры, которых нет "
            "в этой справке, достаются агенту.",
        ),
    ] = None,
    source_segment_size: Annotated[
        float | None,
        option(
            "--source-segment-size",
            metavar="N",
            panel=_AGENT,
            parser=number(0, exclusive=True),
            help="Сколько источника давать за раз: слов (по умолчанию 1) или мс звука (10).",
        ),
    ] = None,
    max_tail_steps: Annotated[
        int,
        option(
            "--max-tail-steps",
            metavar="N",
            panel=_AGENT,
            parser=whole_number(1),
            help="Сколько раз спрашивать агента после конца источника, пока он не скажет, что "
            f"закончил (по умолчанию {MAX_TAIL_STEPS}).",
        ),
    ] = MAX_TAIL_STEPS,
    quality_metrics: Annotated[
        list[str] | None,
        metrics_option(
            "--quality-metrics",
            "BLEU (по умолчанию), CHRF, WER, CER, ASR_BLEU или свои; можно несколько.",
        ),
    ] = None,
    latency_metrics: Annotated[
        list[str] | None,
        metrics_option(
            "--latency-metrics",
            "AL AP DAL (по умолчанию), LAAL, AP_HYP, ATD, StartOffset, EndOffset, NumChunks, RTF, "
            "каждый и с _CA, или свои; можно несколько.",
        ),
    ] = None,
    computation_aware: Annotated[
        bool,
        option(
            "--computation-aware",
            panel=METRICS,
            help="Добавить к каждому показателю задержки его _CA: с временем вычислений.",
        ),
    ] = False,
    eval_latency_unit: LatencyUnitName = "word",
    no_use_ref_len: NoReferenceLength = False,
    sacrebleu_tokenizer: Tokenizer = TOKENIZER,
    asr_model: Annotated[
        str,
        option(
            "--asr-model",
            metavar="ИМЯ",
            panel=METRICS,
            help="Модель, которая слушает речь агента для ASR_BLEU "
            f"(по умолчанию {DEFAULT_MODEL}).",
        ),
    ] = DEFAULT_MODEL,
    asr_model_dir: Annotated[
        Path | None,
        option("--asr-model-dir", metavar="КАТАЛОГ", panel=METRICS, help="Файлы этой модели."),
    ] = None,
    asr_vad_dir: Annotated[
        Path | None,
        option(
            "--asr-vad-dir", metavar="КАТАЛОГ", panel=METRICS, help="Где лежит silero_vad.onnx."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        option(
            "--output",
            metavar="КАТАЛОГ",
            panel=WORK,
            help="Куда писать instances.log, scores.tsv, metrics.tsv и config.yaml.",
        ),
    ] = None,
    score_only: Annotated[
        bool,
        option(
            "--score-only",
            panel=WORK,
            help="Пересчитать показатели по instances.log из --output, без агента; --output может "
            "быть и самим журналом, тогда ничего не пишется. Журналы SimulEval читаются тоже.",
        ),
    ] = False,
    continue_unfinished: Annotated[
        bool,
        option(
            "--continue-unfinished",
            panel=WORK,
            help="Продолжить прерванный прогон из --output; примеры с ошибкой повторяются.",
        ),
    ] = False,
    no_progress_bar: Annotated[
        bool, option("--no-progress-bar", panel=WORK, help="Не показывать ход работы.")
    ] = False,
    remote_address: Annotated[
        str | None,
        option(
            "--remote-address",
            metavar="АДРЕС",
            panel=_REMOTE,
            help="Источники и оценка – у сервера с этим адресом "
            f"(по умолчанию {REMOTE_ADDRESS}, если указан порт).",
        ),
    ] = None,
    remote_port: Annotated[
        int | None,
        option(
            "--remote-port",
            metavar="ПОРТ",
            panel=_REMOTE,
            parser=whole_number(1),
            help=f"Порт сервера (по умолчанию {REMOTE_PORT}, если указан адрес).",
        ),
    ] = None,
) -> None:
    """Оценивает агента, который пишет текст, пока ещё читает: качество и задержка.

    Агент получает источник по частям; у каждого слова, которое он написал, есть задержка: сколько
    источника было прочитано. Показатели описаны в docs/metrics-latency.md.

    Коды выхода: 0 – всё сделано; 1 – агент или показатель завершился ошибкой или файл не записан;
    2 – неверные аргументы или данные; 130 – Ctrl+C, 143 – SIGTERM.
    """
    agent_args: list[str] = list(ctx.meta.get("agent_args", ()))
    names = (split_names(quality_metrics, QUALITY), split_names(latency_metrics, LATENCY))
    options = Namespace(
        source_type=source_type,
        target_type=target_type,
        source_segment_size=source_segment_size,
        start_index=start_index,
        end_index=end_index,
        eval_latency_unit=eval_latency_unit,
        computation_aware=computation_aware,
        no_use_ref_len=no_use_ref_len,
        use_ref_len=not no_use_ref_len,
        sacrebleu_tokenizer=sacrebleu_tokenizer,
        quality_metrics=names[0],
        latency_metrics=names[1],
        max_tail_steps=max_tail_steps,
        output=output,
        continue_unfinished=continue_unfinished,
        score_only=score_only,
        source=source,
        target=target,
        manifest=manifest,
        agent=agent,
        device="cpu",
        asr_model=asr_model,
        asr_model_dir=asr_model_dir,
        asr_vad_dir=asr_vad_dir,
    )
    is_remote = remote_address is not None or remote_port is not None
    _check_request(options, is_remote=is_remote)
    notices: list[str] = []
    if score_only:
        _refuse_unknown(agent_args, ctx)
        raise typer.Exit(_score_only(options))
    if is_remote:
        code = _run_remote(
            options,
            agent_args,
            ctx,
            remote_address or REMOTE_ADDRESS,
            remote_port or REMOTE_PORT,
            show_progress=not no_progress_bar,
        )
        raise typer.Exit(code)
    raise typer.Exit(
        _run_local(options, agent_args, ctx, notices, show_progress=not no_progress_bar)
    )


def _check_request(options: Namespace, *, is_remote: bool) -> None:
    has_data = options.manifest is not None or options.source is not None
    if options.manifest is not None and (options.source or options.target):
        raise UsageError("укажите либо манифест, либо --source и --target")
    if options.score_only:
        if options.output is None:
            raise UsageError("--score-only: укажите --output с каталогом прогона или журналом")
        return
    if options.agent is None:
        raise UsageError("не указан --agent: файл агента .py или МОДУЛЬ:КЛАСС")
    if is_remote:
        if has_data or options.output or options.continue_unfinished:
            raise UsageError(
                "--remote-address, --remote-port: данные и журнал – у сервера, поэтому манифест, "
                "--source, --target, --output и --continue-unfinished здесь не нужны"
            )
        return
    if not has_data:
        raise UsageError("не указаны данные: манифест или --source и --target")
    if options.continue_unfinished and options.output is None:
        raise UsageError("--continue-unfinished: укажите --output с начатым прогоном")


def _refuse_unknown(args: Sequence[str], ctx: typer.Context) -> None:
    unknown = [arg for arg in args if arg.startswith("-")] or list(args)
    if not unknown:
        return
    name = unknown[0].partition("=")[0]
    known = [known for parameter in ctx.command.params for known in parameter.opts]
    near = difflib.get_close_matches(name, known)
    hint = f"; похожие: {', '.join(near)}" if near else ""
    raise UsageError(f"нет параметра {name} ни у simul, ни у агента{hint}")


class _AgentParser(ArgumentParser):
    """argparse for the agent's own options, whose errors are ours."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"параметры агента: {message}")


def _make_agent(
    options: Namespace, agent_args: Sequence[str], ctx: typer.Context
) -> tuple[type[GenericAgent], Namespace]:
    from stt_ru.simultaneous.agents.loading import load_agent_class

    kind = load_agent_class(options.agent)
    parser = _AgentParser(prog=f"--agent {options.agent}", add_help=False, allow_abbrev=False)
    kind.add_args(parser)
    own, unknown = parser.parse_known_args(list(agent_args))
    _refuse_unknown(unknown, ctx)
    return kind, Namespace(**{**vars(options), **vars(own)})


def _build(kind: type[GenericAgent], args: Namespace) -> GenericAgent:
    try:
        return kind.from_args(args)
    except SttRuError:
        raise
    except Exception as error:
        import traceback

        print_message(traceback.format_exc().rstrip())
        raise SttRuError(f"агент не создан: {type(error).__name__}: {error}") from error


def load_dataset(
    manifest: Path | None,
    source: Path | None,
    target: Path | None,
    source_type: DataType,
    notices: list[str],
    *,
    sample_rate: int | None = None,
) -> Dataset:
    """The data that the arguments name.

    Args:
        manifest: Instead of the two files.
        source: Lines of text or paths.
        target: Lines of references; None for none.
        source_type: What is in ``source``.
        notices: Gets what is suspicious in the manifest.
        sample_rate: To which speech is brought, Hz; None for its own.
    """
    from stt_ru.simultaneous.dataset import dataset_of_files, dataset_of_samples

    if manifest is not None:
        from stt_ru.manifest import load_manifest

        samples = load_manifest(manifest, warn=notices.append)
        return dataset_of_samples(samples, sample_rate=sample_rate)
    assert source is not None
    return dataset_of_files(source, target, source_type, sample_rate=sample_rate)


def _run_local(
    options: Namespace,
    agent_args: Sequence[str],
    ctx: typer.Context,
    notices: list[str],
    *,
    show_progress: bool,
) -> int:
    if options.manifest is not None and options.source_type == "text":
        raise UsageError("--source-type text: в манифесте записи, а не тексты")
    dataset: Dataset | None = None
    if options.manifest is not None or options.source_type is not None:  # before the agent loads
        dataset = _dataset(options, notices)
    kind, args = _make_agent(options, agent_args, ctx)
    if dataset is None:
        options.source_type = getattr(kind, "source_type", None)
        if options.source_type not in ("text", "speech"):
            raise UsageError("не понять, что в --source: добавьте --source-type text или speech")
        dataset = _dataset(options, notices)
    args.source_type = dataset.source_type
    if options.computation_aware and dataset.source_type == "text":
        raise UsageError(
            "--computation-aware: у текстового источника нет времени, есть только слова"
        )
    from stt_ru.simultaneous.evaluator import (
        EvaluationOptions,
        SentenceLevelEvaluator,
        check_agent,
        index_range,
        segment_size_for,
    )
    from stt_ru.simultaneous.scorers import make_latency_scorers, make_quality_scorers

    index_range(len(dataset), options.start_index, options.end_index)
    args.source_segment_size = segment_size_for(dataset.source_type, options.source_segment_size)
    if options.output is not None:
        from stt_ru.simultaneous.run_folder import RunFolder

        RunFolder(options.output)
    _check_speech_metrics(options, kind)
    scorer_options = _scorer_options(args)
    latency = make_latency_scorers(options.latency_metrics, scorer_options)
    quality = make_quality_scorers(options.quality_metrics, scorer_options)
    notices += _take_notices()
    agent = _build(kind, args)
    check_agent(agent, dataset.source_type, options.target_type)
    evaluator = SentenceLevelEvaluator(
        dataset,
        quality,
        latency,
        EvaluationOptions(
            source_segment_size=args.source_segment_size,
            eval_latency_unit=options.eval_latency_unit,
            target_type=options.target_type,
            start_index=options.start_index,
            end_index=options.end_index,
            output=options.output,
            continue_unfinished=options.continue_unfinished,
            max_tail_steps=options.max_tail_steps,
            config=_config(options, agent_args),
        ),
    )
    try:
        with _progress(show=show_progress) as progress:
            scores = evaluator(agent, progress)
    except Interrupted as interruption:
        done = sum(record.error is None for record in evaluator.instances.values())
        how = "; продолжить: та же команда с --continue-unfinished" if options.output else ""
        print_message(f"Прервано: готово примеров {done} из {len(evaluator.indices)}{how}")
        return interruption.exit_code
    code = print_scores(scores, evaluator.instances, notices)
    if evaluator.unsaved is not None:
        print_message(f"Ошибка: {evaluator.unsaved}")
        return 1
    if options.output is not None:
        print_message(f"Прогон записан: {options.output}")
    return code


def _dataset(options: Namespace, notices: list[str]) -> Dataset:
    return load_dataset(
        options.manifest, options.source, options.target, options.source_type, notices
    )


def _check_speech_metrics(options: Namespace, kind: type[GenericAgent]) -> None:
    writes = options.target_type or getattr(kind, "target_type", None)
    if "ASR_BLEU" in options.quality_metrics:
        if writes == "text":
            raise UsageError("ASR_BLEU слушает речь агента, а этот агент пишет текст")
        if options.output is None:
            raise UsageError("ASR_BLEU: укажите --output, куда записать речь агента")


def _scorer_options(options: Namespace) -> ScorerOptions:
    from stt_ru.simultaneous.scorers import ScorerOptions

    def recognizer() -> Recognizer:
        from stt_ru.transcriber import Transcriber

        return Transcriber(
            options.asr_model, model_dir=options.asr_model_dir, vad_dir=options.asr_vad_dir
        )

    return ScorerOptions(
        tokenizer=options.sacrebleu_tokenizer,
        use_ref_len=not options.no_use_ref_len,
        computation_aware=options.computation_aware,
        recognizer=recognizer,
        folder=str(options.output or "."),
        args=options,
    )


def _take_notices() -> list[str]:
    from stt_ru.simultaneous.scorers import LATENCY_SCORERS, QUALITY_SCORERS

    return [*QUALITY_SCORERS.take_notices(), *LATENCY_SCORERS.take_notices()]


def _config(options: Namespace, agent_args: Sequence[str]) -> dict[str, Any]:
    from importlib.metadata import version

    return {
        "agent": options.agent,
        "agent_options": list(agent_args),
        "manifest": options.manifest and str(options.manifest),
        "source": options.source and str(options.source),
        "target": options.target and str(options.target),
        "quality_metrics": options.quality_metrics,
        "latency_metrics": options.latency_metrics,
        "computation_aware": options.computation_aware,
        "use_ref_len": not options.no_use_ref_len,
        "sacrebleu_tokenizer": options.sacrebleu_tokenizer,
        "max_tail_steps": options.max_tail_steps,
        "version": version("stt-ru"),
    }


def _score_only(options: Namespace) -> int:
    from stt_ru.simultaneous.evaluator import score_log
    from stt_ru.simultaneous.instance_log import LOG_NAME, read_log
    from stt_ru.simultaneous.run_folder import RunFolder
    from stt_ru.simultaneous.scorers import make_latency_scorers, make_quality_scorers

    log: Path = options.output
    folder = None
    if log.is_dir():
        folder, log = log, log / LOG_NAME
    else:
        options.output = log.parent
    if options.agent is not None:  # for the measures that its file registers
        from stt_ru.simultaneous.agents.loading import load_agent_class

        load_agent_class(options.agent)
    unit: LatencyUnit = options.eval_latency_unit
    records = read_log(log, latency_unit=unit)
    if not records:
        raise UsageError(f"в журнале {log} нет ни одного примера")
    if options.computation_aware and all(r.source_type == "text" for r in records.values()):
        raise UsageError(
            "--computation-aware: у текстового источника нет времени, есть только слова"
        )
    scorer_options = _scorer_options(options)
    latency = make_latency_scorers(options.latency_metrics, scorer_options)
    quality = make_quality_scorers(options.quality_metrics, scorer_options)
    scores = score_log(records, quality, latency)
    code = print_scores(scores, records, _take_notices())
    if folder is not None:
        RunFolder(folder).write_scores(scores, records)
        print_message(f"Прогон записан: {folder}")
    return code


def _run_remote(
    options: Namespace,
    agent_args: Sequence[str],
    ctx: typer.Context,
    address: str,
    port: int,
    *,
    show_progress: bool,
) -> int:
    import os

    from stt_ru.simultaneous.client import RemoteSession, evaluate_remotely
    from stt_ru.simultaneous.evaluator import EvaluationOptions

    kind, args = _make_agent(options, agent_args, ctx)
    with RemoteSession(address, port, token=os.environ.get("STT_RU_TOKEN") or None) as session:
        args.source_type = session.data_type
        agent = _build(kind, args)
        run_options = EvaluationOptions(
            source_segment_size=options.source_segment_size,
            start_index=options.start_index,
            end_index=options.end_index,
            max_tail_steps=options.max_tail_steps,
        )
        with _progress(show=show_progress) as progress:
            evaluation = evaluate_remotely(
                agent, session, run_options, lambda done, total: progress(done, total, None)
            )
    return _print_remote(evaluation, address, port)


def _print_remote(evaluation: RemoteEvaluation, address: str, port: int) -> int:
    from stt_ru.simultaneous.table import format_figures

    result = evaluation.result
    print_answer(format_figures(result))
    for index, sentence in list(evaluation.errors.items())[:20]:
        print_message(f"Ошибка: пример {index}: {sentence}")
    if len(evaluation.errors) > 20:
        print_message(f"Ошибка: … и ещё примеров с ошибкой: {len(evaluation.errors) - 20}")
    for sentence in result.get("errors", {}).values():
        print_message(f"Ошибка: показатель {sentence}")
    print_message(f"Сессия {result['session_id']} на сервере {address}:{port}")
    return 1 if evaluation.errors or result.get("errors") else 0


def print_scores(
    scores: Scores,
    instances: dict[int, InstanceRecord],
    notices: Sequence[str],
) -> int:
    """Print the table, and after it all that is to be known beside it; the exit code."""
    from stt_ru.simultaneous.scorers.scoring import skipped_sentences
    from stt_ru.simultaneous.table import format_scores

    print_answer(format_scores(scores))
    for notice in notices:
        print_message(f"Внимание: {notice}")
    failed = [record for record in instances.values() if record.error is not None]
    for record in failed[:20]:
        print_message(f"Ошибка: пример {record.index}: {record.error}")
    if len(failed) > 20:
        print_message(f"Ошибка: … и ещё примеров с ошибкой: {len(failed) - 20}")
    broken = [score for score in scores.all if score.error is not None]
    for score in broken:
        print_message(f"Ошибка: показатель {score.error}")
    said: set[str] = set()
    for score in scores.all:
        for sentence in skipped_sentences(score):
            if "(ошибка примера)" not in sentence and sentence not in said:
                said.add(sentence)
                print_message(f"Внимание: {sentence}")
        if score.signature:
            print_message(f"{score.name}: {score.signature}")
    return 1 if failed or broken else 0


@contextmanager
def _progress(*, show: bool) -> Iterator[EvaluationProgress]:
    if not show:
        yield _say_nothing
    elif sys.stderr.isatty():
        with _bar() as progress:
            yield progress
    else:
        yield _Lines()


def _say_nothing(done: int, total: int, record: InstanceRecord | None) -> None:
    pass


class _Lines:
    """A line now and then, for logs."""

    def __init__(self) -> None:
        self._said_at = time.monotonic()

    def __call__(self, done: int, total: int, record: InstanceRecord | None) -> None:
        now = time.monotonic()
        if now - self._said_at >= _LINE_EVERY_S:
            self._said_at = now
            print_message(f"Примеров: {done} из {total}")


@contextmanager
def _bar() -> Iterator[EvaluationProgress]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = (BarColumn(bar_width=None), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)

        def show(done: int, total: int, record: InstanceRecord | None) -> None:
            bar.update(task, completed=done, total=total)

        yield show
