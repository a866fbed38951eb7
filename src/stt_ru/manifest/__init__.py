"""Manifests: a CSV file, a JSON Lines file or a folder becomes samples, or says all that is wrong.

Light on purpose: the command line refuses a bad manifest before any heavy library is loaded.

    loading ──► csv_rows | jsonl_rows | folder ──► Row ──► recordings ──► Sample
                      faults of all of them go to one Faults (rows)
"""

from stt_ru.manifest.loading import load_manifest
from stt_ru.manifest.recordings import AUDIO_SUFFIXES, CORE_SUFFIXES, MEDIA_SUFFIXES
from stt_ru.manifest.sample import Sample

__all__ = ["AUDIO_SUFFIXES", "CORE_SUFFIXES", "MEDIA_SUFFIXES", "Sample", "load_manifest"]
