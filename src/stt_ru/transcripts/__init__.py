"""Stored texts of any system, scored without recognising.

stored_file ──► lines (plain, Kaldi, trn) | tables (CSV, JSON Lines) | nist (STM, CTM) | a report
pairing     ──► which text belongs to which row
rescoring   ──► ModelReport
"""

from stt_ru.defaults import TRANSCRIPT_FORMATS as FORMATS
from stt_ru.transcripts.rescoring import score_files
from stt_ru.transcripts.tables import ColumnNames

__all__ = ["FORMATS", "ColumnNames", "score_files"]
