"""Quality measures by name, over many instances; `register_quality_scorer` adds more."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from stt_ru.defaults import EMBEDDED_MODEL, TOKENIZER
from stt_ru.errors import MissingExtraError, SttRuError, UsageError
from stt_ru.scoring.counts import EDIT_SPLIT, score_texts, total_score
from stt_ru.simultaneous.core.record import FAILED
from stt_ru.simultaneous.scorers.registry import Registry
from stt_ru.text.normalize import NORMALIZER, normalize

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stt_ru.recognition.recognizer import Recognizer
    from stt_ru.scoring.counts import Score
    from stt_ru.simultaneous.core.record import InstanceRecord


class QualityScorer:
    """A quality measure over instances.

    Attributes:
        signature: How the figure is made; empty for nothing to say.
        is_rate: Whether it is a fraction, which tables show as percents.
    """

    signature: str = ""
    is_rate: ClassVar[bool] = False
    reads_speech: ClassVar[bool] = False

    def why_not(self, instance: InstanceRecord) -> str | None:
        """Why the instance does not count, a Russian phrase; None when it does."""
        if instance.error is not None:
            return FAILED
        if instance.reference is None:
            return "нет эталона"
        if self.reads_speech != (instance.target_type == "speech"):
            return "выход – не речь" if self.reads_speech else "выход – речь, а не текст"
        return None

    def counted(self, instances: Mapping[int, InstanceRecord]) -> list[InstanceRecord]:
        """The instances that count."""
        return [instance for instance in instances.values() if self.why_not(instance) is None]

    def __call__(self, instances: Mapping[int, InstanceRecord]) -> float | None:
        """The figure over all instances that count; None when none does."""
        raise NotImplementedError


class SacreBLEUScorer(QualityScorer):
    """BLEU of the corpus by sacrebleu, 0 to 100 (Papineni et al. 2002; Post 2018).

    Args:
        tokenizer: sacrebleu's name of how both sides are split into words.

    Raises:
        MissingExtraError: If sacrebleu is not installed.
        UsageError: If it has no such tokeniser, or that one needs more to be installed.
    """

    def __init__(self, tokenizer: str = TOKENIZER) -> None:
        bleu = _sacrebleu().BLEU
        if tokenizer not in bleu.TOKENIZERS:
            raise UsageError(
                f"--sacrebleu-tokenizer «{tokenizer}»: есть {', '.join(sorted(bleu.TOKENIZERS))}"
            )
        try:
            self._bleu = bleu(tokenize=tokenizer)
        except Exception as error:
            raise UsageError(f"--sacrebleu-tokenizer {tokenizer}: {error}") from error
        self.tokenizer = tokenizer

    def __call__(self, instances: Mapping[int, InstanceRecord]) -> float | None:
        """BLEU of all instances together; None without any."""
        counted = self.counted(instances)
        return self._score([instance.prediction for instance in counted], _references(counted))

    def _score(self, hypotheses: Sequence[str], references: Sequence[str]) -> float | None:
        if not hypotheses:
            return None
        score = float(self._bleu.corpus_score(list(hypotheses), [list(references)]).score)
        self.signature = str(self._bleu.get_signature())
        return score


class CHRFScorer(QualityScorer):
    """ChrF of the corpus by sacrebleu, 0 to 100 (Popović 2015).

    Raises:
        MissingExtraError: If sacrebleu is not installed.
    """

    def __init__(self) -> None:
        self._chrf = _sacrebleu().CHRF()

    def __call__(self, instances: Mapping[int, InstanceRecord]) -> float | None:
        """ChrF of all instances together; None without any."""
        counted = self.counted(instances)
        if not counted:
            return None
        hypotheses = [instance.prediction for instance in counted]
        score = float(self._chrf.corpus_score(hypotheses, [_references(counted)]).score)
        self.signature = str(self._chrf.get_signature())
        return score


class _EditRateScorer(QualityScorer):
    is_rate = True
    signature = f"norm:{NORMALIZER}|split:{EDIT_SPLIT}"

    def score_instance(self, instance: InstanceRecord) -> float | None:
        """The rate of one instance; None when its reference is empty."""
        return self._rate(_edit_score(instance))

    def __call__(self, instances: Mapping[int, InstanceRecord]) -> float | None:
        """Errors of all instances over their reference; None when that is empty."""
        return self._rate(total_score(map(_edit_score, self.counted(instances))))

    def _rate(self, score: Score) -> float | None:
        raise NotImplementedError


class WERScorer(_EditRateScorer):
    """Word error rate after `stt_ru.text.normalize`, a fraction."""

    def _rate(self, score: Score) -> float | None:
        return score.words.rate


class CERScorer(_EditRateScorer):
    """Character error rate after `stt_ru.text.normalize`, a fraction."""

    def _rate(self, score: Score) -> float | None:
        return score.chars.rate


class ASRSacreBLEUScorer(SacreBLEUScorer):
    """BLEU of speech that was written: recognised, both sides normalised, then as BLEU.

    Args:
        tokenizer: As of `SacreBLEUScorer`.
        recognizer: What hears the speech; None for the embedded model ``tiny-ru``.
        folder: Where the instances' WAV files are named from.

    Attributes:
        transcripts: What was heard, by the instance's index.
    """

    reads_speech = True

    def __init__(
        self,
        tokenizer: str = TOKENIZER,
        recognizer: Recognizer | None = None,
        folder: str | Path = ".",
    ) -> None:
        super().__init__(tokenizer)
        if recognizer is None:
            from stt_ru.recognition.transcriber import Transcriber

            recognizer = Transcriber(EMBEDDED_MODEL)
        self.recognizer = recognizer
        self._folder = Path(folder)
        self.transcripts: dict[int, str] = {}

    def __call__(self, instances: Mapping[int, InstanceRecord]) -> float | None:
        """BLEU of what is heard in all instances; None without any.

        Raises:
            SttRuError: If the speech of an instance cannot be read or recognised.
        """
        counted = self.counted(instances)
        hypotheses = [normalize(self._heard(instance)) for instance in counted]
        score = self._score(hypotheses, [normalize(text) for text in _references(counted)])
        if score is not None:
            self.signature += f"|asr:{self.recognizer.name}|norm:{NORMALIZER}"
        return score

    def _heard(self, instance: InstanceRecord) -> str:
        if not instance.delays:
            return ""  # the agent said nothing, which is known without listening
        if instance.audio is None:
            raise SttRuError(f"пример {instance.index}: речь агента не записана, нужен --output")
        if instance.index not in self.transcripts:
            path = self._folder / instance.audio
            try:
                text = self.recognizer.transcribe(path).text
            except SttRuError as error:
                raise SttRuError(f"пример {instance.index}, {path}: {error}") from error
            self.transcripts[instance.index] = text
        return self.transcripts[instance.index]


def _sacrebleu() -> Any:
    try:
        from sacrebleu import metrics
    except ImportError as error:
        raise MissingExtraError("BLEU и CHRF", "simul") from error
    return metrics


def _references(instances: Sequence[InstanceRecord]) -> list[str]:
    return [instance.reference or "" for instance in instances]


def _edit_score(instance: InstanceRecord) -> Score:
    return score_texts(normalize(instance.reference or ""), normalize(instance.prediction))


QUALITY_SCORERS: Registry[type[Any]] = Registry(
    "показателя качества",
    {
        "BLEU": SacreBLEUScorer,
        "CHRF": CHRFScorer,
        "WER": WERScorer,
        "CER": CERScorer,
        "ASR_BLEU": ASRSacreBLEUScorer,
    },
)
"""Quality measures by name."""

register_quality_scorer = QUALITY_SCORERS.register
"""Decorate a class with ``__call__(instances) -> float`` to be a quality measure by name."""
