"""The command ``stt-ru simul``."""

from __future__ import annotations

import os
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from stt_ru import defaults
from stt_ru.cli import options
from stt_ru.cli.instances_progress import instances_progress
from stt_ru.cli.interrupts import Interrupted
from stt_ru.cli.output import print_warning, succeeds
from stt_ru.cli.parsing import given_parameters, split_names
from stt_ru.cli.russian import one_of, whole_number
from stt_ru.cli.stdio import print_answer, print_message

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    from stt_ru.simultaneous.core.record import InstanceRecord, LatencyUnit
    from stt_ru.simultaneous.core.segments import DataType
    from stt_ru.simultaneous.run.request import RunRequest
    from stt_ru.simultaneous.scorers import Scores

_AGENT = "Агент"
_REMOTE = "Сервер stt-ru serve"


def simul(
    ctx: typer.Context,
    manifest: options.SpeechOrTexts = None,
    source: options.SourceFile = None,
    target: options.TargetFile = None,
    source_type: Annotated[
        str | None,
        options.source_type_option("Что в --source (по умолчанию то, что читает агент)."),
    ] = None,
    target_type: Annotated[
        str | None,
        options.option(
            "--target-type",
            metavar="text|speech",
            panel=options.DATA,
            parser=one_of("text", "speech"),
            help="Что пишет агент (по умолчанию то, что он говорит о себе).",
        ),
    ] = None,
    start_index: Annotated[
        int,
        options.option(
            "--start-index",
            metavar="N",
            panel=options.DATA,
            parser=whole_number(0),
            help="Первый пример, счёт с 0",
            default=0,
        ),
    ] = 0,
    end_index: Annotated[
        int,
        options.option(
            "--end-index",
            metavar="N",
            panel=options.DATA,
            parser=whole_number(-1),
            help="Пример, на котором остановиться, сам он не входит (по умолчанию -1: до конца).",
        ),
    ] = -1,
    agent: Annotated[
        str | None,
        options.option(
            "--agent",
            metavar="ФАЙЛ.py|МОДУЛЬ:КЛАСС",
            panel=_AGENT,
            help="Агент: файл с классом под @entrypoint или класс модуля. Параметры, которых нет "
            "в этой справке, достаются агенту.",
        ),
    ] = None,
    source_segment_size: Annotated[
        float | None,
        options.positive_option(
            "--source-segment-size",
            metavar="N",
            panel=_AGENT,
            help="Сколько источника давать за раз: слов (по умолчанию 1) или мс звука (10).",
        ),
    ] = None,
    max_tail_steps: Annotated[
        int,
        options.count_option(
            "--max-tail-steps",
            panel=_AGENT,
            help="Сколько раз спрашивать агента после конца источника, пока он не скажет, что "
            "закончил",
            default=defaults.MAX_TAIL_STEPS,
        ),
    ] = defaults.MAX_TAIL_STEPS,
    quality_metrics: Annotated[list[str] | None, options.quality_option(also="ASR_BLEU")] = None,
    latency_metrics: Annotated[
        list[str] | None, options.latency_option(", каждый и с _CA, или свои; можно несколько.")
    ] = None,
    computation_aware: Annotated[
        bool,
        options.option(
            "--computation-aware",
            panel=options.METRICS,
            help="Добавить к каждому показателю задержки его _CA: с временем вычислений.",
        ),
    ] = False,
    eval_latency_unit: options.LatencyUnitName = "word",
    no_use_ref_len: options.NoReferenceLength = False,
    sacrebleu_tokenizer: options.Tokenizer = defaults.TOKENIZER,
    asr_model: Annotated[
        str,
        options.option(
            "--asr-model",
            metavar="ИМЯ",
            panel=options.METRICS,
            help="Модель, которая слушает речь агента для ASR_BLEU",
            default=defaults.DEFAULT_MODEL,
        ),
    ] = defaults.DEFAULT_MODEL,
    asr_model_dir: Annotated[
        Path | None,
        options.folder_option("--asr-model-dir", panel=options.METRICS, help="Файлы этой модели."),
    ] = None,
    asr_vad_dir: Annotated[
        Path | None,
        options.folder_option(
            "--asr-vad-dir", panel=options.METRICS, help="Где лежит silero_vad.onnx."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        options.folder_option(
            "--output",
            panel=options.WORK,
            help="Куда писать instances.log, scores.tsv, metrics.tsv и config.yaml.",
        ),
    ] = None,
    score_only: Annotated[
        bool,
        options.option(
            "--score-only",
            panel=options.WORK,
            help="Пересчитать показатели по instances.log из --output, без агента; --output может "
            "быть и самим журналом, тогда ничего не пишется. Журналы SimulEval читаются тоже.",
        ),
    ] = False,
    continue_unfinished: Annotated[
        bool,
        options.option(
            "--continue-unfinished",
            panel=options.WORK,
            help="Продолжить прерванный прогон из --output; примеры с ошибкой повторяются.",
        ),
    ] = False,
    no_progress_bar: Annotated[
        bool,
        options.option("--no-progress-bar", panel=options.WORK, help="Не показывать ход работы."),
    ] = False,
    remote_address: Annotated[
        str,
        options.option(
            "--remote-address",
            metavar="АДРЕС",
            panel=_REMOTE,
            help="Источники и оценка – у сервера с этим адресом "
            f"(по умолчанию {defaults.SERVER_ADDRESS}, если указан порт).",
        ),
    ] = defaults.SERVER_ADDRESS,
    remote_port: Annotated[
        int,
        options.option(
            "--remote-port",
            metavar="ПОРТ",
            panel=_REMOTE,
            parser=whole_number(1, 65535),
            help=f"Порт сервера (по умолчанию {defaults.SERVER_PORT}, если указан адрес).",
        ),
    ] = defaults.SERVER_PORT,
) -> None:
    """Оценивает агента, который пишет текст, пока ещё читает: качество и задержка.

    Агент получает источник по частям; у каждого слова, которое он написал, есть задержка: сколько
    источника было прочитано. Показатели описаны в docs/metrics-latency.md.

    Коды выхода: 0 – всё сделано; 1 – агент или показатель завершился ошибкой или файл не записан;
    2 – неверные аргументы или данные; 130 – Ctrl+C, 143 – SIGTERM.
    """
    from stt_ru.simultaneous.run.request import RunRequest, check_remote

    request = RunRequest(
        manifest=manifest,
        source=source,
        target=target,
        source_type=cast("DataType | None", source_type),
        target_type=cast("DataType | None", target_type),
        start_index=start_index,
        end_index=end_index,
        agent=agent,
        agent_args=ctx.meta.get("agent_args", ()),
        source_segment_size=source_segment_size,
        max_tail_steps=max_tail_steps,
        quality_metrics=split_names(quality_metrics, defaults.QUALITY_METRICS),
        latency_metrics=split_names(latency_metrics, defaults.LATENCY_METRICS),
        computation_aware=computation_aware,
        eval_latency_unit=cast("LatencyUnit", eval_latency_unit),
        use_ref_len=not no_use_ref_len,
        sacrebleu_tokenizer=sacrebleu_tokenizer,
        asr_model=asr_model,
        asr_model_dir=asr_model_dir,
        asr_vad_dir=asr_vad_dir,
        output=output,
        score_only=score_only,
        continue_unfinished=continue_unfinished,
        own_options=[name for parameter in ctx.command.params for name in parameter.opts],
    )
    given = given_parameters(ctx)
    show_progress = not no_progress_bar
    if given & {"remote_address", "remote_port"}:
        check_remote(request, given)
        code = _run_remotely(request, remote_address, remote_port, show_progress=show_progress)
    elif score_only:
        code = _score_again(request)
    else:
        code = _run(request, show_progress=show_progress)
    raise typer.Exit(code)


def _stdout_is_the_tables() -> AbstractContextManager[object]:
    """What an agent or a measure of the user's prints goes where messages go."""
    return redirect_stdout(sys.stderr)


def _run(request: RunRequest, *, show_progress: bool) -> int:
    from stt_ru.simultaneous.run.request import prepare_run

    with _stdout_is_the_tables():
        run = prepare_run(request)
    evaluator = run.evaluator
    try:
        with _stdout_is_the_tables(), instances_progress(show=show_progress) as progress:
            scores = evaluator(run.agent, progress)
    except Interrupted as interruption:
        done = sum(record.error is None for record in evaluator.instances.values())
        how = "; продолжить: та же команда с --continue-unfinished" if request.output else ""
        print_message(f"Прервано: готово примеров {done} из {len(evaluator.indices)}{how}")
        return interruption.exit_code
    code = print_scores(scores, evaluator.instances, run.notices)
    if evaluator.unsaved is not None:
        print_message(f"Ошибка: {evaluator.unsaved}")
        return 1
    if request.output is not None:
        print_message(f"Прогон записан: {request.output}")
    return code


def _score_again(request: RunRequest) -> int:
    from stt_ru.simultaneous.run.request import rescore

    with _stdout_is_the_tables():
        done = rescore(request)
    code = print_scores(done.scores, done.records, done.notices)
    if done.folder is not None:
        done.folder.write_scores(done.scores, done.records)
        print_message(f"Прогон записан: {done.folder.path}")
    return code


def _run_remotely(request: RunRequest, address: str, port: int, *, show_progress: bool) -> int:
    from stt_ru.simultaneous.run.client import RemoteSession, evaluate_remotely
    from stt_ru.simultaneous.run.request import prepare_remote_run
    from stt_ru.simultaneous.run.table import failed_sentences, format_figures
    from stt_ru.simultaneous.server.running import TOKEN_VARIABLE

    with RemoteSession(address, port, token=os.environ.get(TOKEN_VARIABLE) or None) as session:
        with _stdout_is_the_tables():
            agent, options = prepare_remote_run(request, session)
        with _stdout_is_the_tables(), instances_progress(show=show_progress) as progress:
            evaluation = evaluate_remotely(agent, session, options, progress)
    result = evaluation.result
    is_printed = succeeds(lambda: print_answer(format_figures(result)))
    for sentence in failed_sentences(evaluation.errors):
        print_message(sentence)
    for sentence in result["errors"].values():
        print_message(f"Ошибка: показатель {sentence}")
    for sentence in result["skipped"]:
        print_warning(sentence)
    print_message(f"Сессия {result['session_id']} на сервере {address}:{port}")
    return 1 if evaluation.errors or result["errors"] or not is_printed else 0


def print_scores(
    scores: Scores, instances: Mapping[int, InstanceRecord], notices: Sequence[str]
) -> int:
    """Print the table, and after it all that is to be known beside it; the exit code."""
    from stt_ru.simultaneous.run.table import closing_sentences, format_scores

    is_printed = succeeds(lambda: print_answer(format_scores(scores)))
    for notice in notices:
        print_warning(notice)
    for sentence in closing_sentences(scores, instances):
        print_message(sentence)
    has_failed = any(record.error is not None for record in instances.values())
    has_failed = has_failed or any(score.error is not None for score in scores.all)
    return 1 if has_failed or not is_printed else 0
