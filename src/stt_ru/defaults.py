"""Defaults and names shared by the command line and the library, each written once.

Imports nothing heavy, so that ``--help`` can state the library's defaults without loading it.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

# Models

DEFAULT_MODEL: Final = "gigaam-v3-e2e-rnnt"
EMBEDDED_MODEL: Final = "tiny-ru"
EMBEDDED_STREAMING_MODEL: Final = "tiny-ru-stream"
EMBEDDED: Final = (EMBEDDED_MODEL, EMBEDDED_STREAMING_MODEL)
"""Models inside the package, for trying the tool; marked as such wherever they are named."""

QUANTIZATION: Final = "int8"
LANGUAGE: Final = "ru"

Device = Literal["auto", "cpu", "cuda", "coreml", "directml"]
DEVICES: Final[tuple[Device, ...]] = get_args(Device)
DEVICE: Final[Device] = "auto"

BATCH_SIZE: Final = 1

# Voice activity detection

VAD_THRESHOLD: Final = 0.5
MIN_SPEECH_MS: Final = 250.0
MAX_SPEECH_S: Final = 20.0
MIN_SILENCE_MS: Final = 100.0
SPEECH_PAD_MS: Final = 30.0

# Reports and stored transcripts

REPORT_SUFFIXES: Final = (".json", ".html", ".md", ".csv", ".xlsx")
"""Files a report can be written to."""

TranscriptFormat = Literal["lines", "kaldi", "trn", "stm", "ctm", "csv", "jsonl", "report"]
TRANSCRIPT_FORMATS: Final[tuple[TranscriptFormat, ...]] = get_args(TranscriptFormat)

# Streaming

INTERVAL_S: Final = 0.2
SPEED: Final = 1.0
STEP_S: Final = 0.5
TIMEOUT_S: Final = 60.0

# Agents and the server

QUALITY_METRICS: Final = ("BLEU",)
LATENCY_METRICS: Final = ("AL", "AP", "DAL")
TOKENIZER: Final = "13a"
MAX_TAIL_STEPS: Final = 1000

SERVER_ADDRESS: Final = "localhost"
SERVER_PORT: Final = 12321
MAX_SESSIONS: Final = 1000
IDLE_S: Final = 3600.0
