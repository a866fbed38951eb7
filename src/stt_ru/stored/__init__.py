"""Stored texts of any system, scored without recognising.

detection ──► lines | kaldi | trn | columns ──► TextFile ┐
──► timed (STM, CTM) ──────────────► TimedFile ┴► matching ──► ModelReport
──► report.reading ─────────────────────────────► rescoring ──► ModelReport
"""

from stt_ru.stored.columns import ColumnNames
from stt_ru.stored.detection import FORMATS
from stt_ru.stored.scoring import score_files

__all__ = ["FORMATS", "ColumnNames", "score_files"]
