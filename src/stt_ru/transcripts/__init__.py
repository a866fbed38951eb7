"""Stored texts of any system, scored without recognising.

detection ──► lines | kaldi | trn | columns ──► TextFile ┐
──► timed (STM, CTM) ──────────────► TimedFile ┴► matching ──► ModelReport
──► report.reading ─────────────────────────────► rescoring ──► ModelReport
"""

from stt_ru.defaults import TRANSCRIPT_FORMATS as FORMATS
from stt_ru.transcripts.rescoring import score_files
from stt_ru.transcripts.tables import ColumnNames

__all__ = ["FORMATS", "ColumnNames", "score_files"]
