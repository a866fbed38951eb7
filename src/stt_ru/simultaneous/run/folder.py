"""The folder of a run: the log of instances, scores, settings, and speech that was written."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from stt_ru.errors import ReportError, UsageError
from stt_ru.files.writing import append_whole, make_folder, reason, write_report
from stt_ru.provenance import Signature
from stt_ru.report.envelope import dump, envelope
from stt_ru.simultaneous.run.log import LOG_NAME, drop_torn_line, log_line, read_log

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from stt_ru.simultaneous.core.instance import Instance
    from stt_ru.simultaneous.core.record import InstanceRecord, LatencyUnit
    from stt_ru.simultaneous.scorers.scoring import Scores

CONFIG_NAME: Final = "config.yaml"
SCORES_NAME: Final = "scores.tsv"
METRICS_NAME: Final = "metrics.tsv"
REPORT_NAME: Final = "scores.json"
WAVS_NAME: Final = "wavs"

# A run goes on only with the same of these: other values would mix figures that do not compare.
_IDENTITY: Final = (
    "data",
    "source_type",
    "target_type",
    "source_segment_size",
    "eval_latency_unit",
    "agent",
    "agent_options",
)


class RunFolder:
    """Where a run keeps what it has done; created if missing.

    Args:
        path: The folder.

    Raises:
        UsageError: If it cannot be made or written to.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            make_folder(path, parents=True)
        except OSError as error:
            raise UsageError(f"каталог {path}: не записать: {reason(error)}") from error

    @property
    def log(self) -> Path:
        """The log of instances."""
        return self.path / LOG_NAME

    def begin(self, config: Mapping[str, Any]) -> None:
        """Start anew; the log of an earlier run is kept as ``instances.log.bak``."""
        try:
            if self.log.exists():
                self.log.replace(self.log.with_name(LOG_NAME + ".bak"))
            for name in (SCORES_NAME, METRICS_NAME, REPORT_NAME):
                (self.path / name).unlink(missing_ok=True)
            self.log.touch()
        except OSError as error:
            raise ReportError(f"каталог {self.path}: не записать: {reason(error)}") from error
        self._write_config(config)

    def resume(
        self, config: Mapping[str, Any], latency_unit: LatencyUnit
    ) -> dict[int, InstanceRecord]:
        """Go on with an earlier run; what it has finished, without the instances that failed.

        Raises:
            UsageError: If the earlier run was of other data, another agent or other settings.
        """
        if not self.log.exists():
            self.begin(config)
            return {}
        earlier = self._read_config()
        for key in _IDENTITY:
            if key in earlier and key in config and earlier[key] != config[key]:
                raise UsageError(
                    f"--continue-unfinished: в {self.path} начат другой прогон: {key} там "
                    f"{earlier[key]!r}, а здесь {config[key]!r}; укажите другой --output"
                )
        drop_torn_line(self.log)
        done = read_log(self.log, latency_unit=latency_unit)
        self._write_config(config)
        return {index: record for index, record in done.items() if record.error is None}

    def add(self, record: InstanceRecord) -> None:
        """Write an instance down at once, so that a kill loses none that is done.

        Raises:
            ReportError: If it cannot be written.
        """
        try:
            append_whole(self.log, log_line(record))
        except OSError as error:
            raise ReportError(f"журнал {self.log} не записан: {reason(error)}") from error

    def write_speech(self, instance: Instance) -> str | None:
        """Write the speech of an instance as it is heard; the file's name in the folder.

        Raises:
            ReportError: If it cannot be written.
        """
        if instance.target_type == "text" or not instance.delays:
            return None
        import soundfile

        samples, rate = instance.heard_speech()
        name = f"{WAVS_NAME}/{instance.index}_pred.wav"
        try:
            (self.path / WAVS_NAME).mkdir(exist_ok=True)
            soundfile.write(self.path / name, samples, rate, subtype="PCM_16")
        except (OSError, soundfile.LibsndfileError) as error:
            raise ReportError(f"речь агента {self.path / name} не записана: {error}") from error
        return name

    def write_scores(self, scores: Scores, instances: Mapping[int, InstanceRecord]) -> None:
        """Write ``scores.tsv`` and ``metrics.tsv``, and both as ``scores.json``.

        Raises:
            ReportError: If one cannot be written.
        """
        write_report(self.path / SCORES_NAME, _scores_lines(scores))
        write_report(self.path / METRICS_NAME, _metrics_lines(scores, instances))
        report = _scores_report(scores, instances, self._read_config())
        write_report(self.path / REPORT_NAME, [f"{dump(report)}\n"])

    def _write_config(self, config: Mapping[str, Any]) -> None:
        lines = (
            f"{key}: {json.dumps(value, ensure_ascii=False, default=str)}\n"
            for key, value in config.items()
        )
        write_report(self.path / CONFIG_NAME, lines)

    def _read_config(self) -> dict[str, Any]:
        config: dict[str, Any] = {}
        try:
            text = (self.path / CONFIG_NAME).read_text("utf-8")
        except OSError:
            return config
        for line in text.splitlines():
            key, _, value = line.partition(": ")
            try:
                config[key] = json.loads(value)
            except ValueError:
                config[key] = value  # SimulEval's own config.yaml
        return config


def _scores_lines(scores: Scores) -> Iterator[str]:
    yield _row("metric", "value", "unit", "scored", "total", "signature")
    for score in scores.all:
        yield _row(
            score.name,
            _figure(score.value),
            score.unit,
            score.scored,
            score.total,
            score.signature,
        )


def _metrics_lines(scores: Scores, instances: Mapping[int, InstanceRecord]) -> Iterator[str]:
    columns = [score for score in scores.all if score.by_instance]
    yield _row("index", *(score.name for score in columns), "error")
    for index, instance in instances.items():
        figures = (_figure(score.by_instance.get(index)) for score in columns)
        yield _row(index, *figures, instance.error or "")


def _scores_report(
    scores: Scores, instances: Mapping[int, InstanceRecord], config: Mapping[str, Any]
) -> dict[str, Any]:
    """Scores of the run and of each instance, in the envelope that every report has."""
    by_instance = [score for score in scores.all if score.by_instance]
    how = {
        key: value if isinstance(value := config[key], str) else dump(value)
        for key in _IDENTITY
        if key in config
    }
    return {
        **envelope(
            "simul",
            manifest=config.get("manifest") or config.get("source") or "",
            created_at=datetime.now().astimezone(),
            warnings=(),
        ),
        "signature": str(Signature(how)),
        "scores": [
            {
                "metric": score.name,
                "value": score.value,
                "unit": score.unit,
                "scored": score.scored,
                "total": score.total,
                "signature": score.signature or None,
                "error": score.error,
            }
            for score in scores.all
        ],
        "instances": [
            {
                "index": index,
                **{score.name: score.by_instance.get(index) for score in by_instance},
                "error": record.error,
            }
            for index, record in instances.items()
        ],
    }


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def _row(*cells: object) -> str:
    return "\t".join(" ".join(str(cell).split()) for cell in cells) + "\n"
