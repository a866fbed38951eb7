"""Paths that users' programs and published descriptions import from, wherever the code lives."""

from importlib import import_module

import pytest

PATHS = {
    "stt_ru": "Recognizer Segment Transcriber Transcript VadOptions __version__",
    "stt_ru.evaluation": "FileResult ModelReport ModelSource Progress Sample evaluate "
    "evaluate_models format_table has_digits load_manifest normalize",
    "stt_ru.manifest": "Sample load_manifest",
    "stt_ru.scoring": "EditCounts count_edits score_texts",
    "stt_ru.normalize": "normalize",
    "stt_ru.transcripts": "ColumnNames FORMATS score_files",
    "stt_ru.streaming": "OfflineToStreaming StreamingASR evaluate_streaming make_sender remap_time",
    "stt_ru.streaming.buffer": "StreamingQueue",
    "stt_ru.streaming.model": "DummyASR InputBuffer InputChunk OutputBuffer OutputChunk Signal "
    "StreamingASR TranscriptionChunk check_consistency",
    "stt_ru.streaming.sender": "Cutoff StreamingSender get_uniform_cutoffs make_sender",
    "stt_ru.streaming.caller": "receive_transcription transcribe_parallel",
    "stt_ru.streaming.evaluation": "PartialAlignment StreamingASRErrorPosition "
    "StreamingEvaluationResults evaluate_streaming get_audio_seconds_processed "
    "get_audio_seconds_sent get_partial_alignments make_sender remap_time",
    "stt_ru.streaming.remap": "remap_time",
    "stt_ru.streaming.wrappers": "OfflineToStreaming StreamingToOffline",
    "stt_ru.streaming.timings": "fill_word_timings_inplace",
    "stt_ru.streaming.plots": "partial_alignments_plot streaming_error_vs_latency_histogram",
    "stt_ru.simultaneous": "AgentPipeline ReadAction SpeechToTextAgent TextToTextAgent WriteAction "
    "entrypoint",
    "stt_ru.simultaneous.agents": "SpeechToTextAgent TextToTextAgent",
    "stt_ru.simultaneous.scorers": "LATENCY_SCORERS QUALITY_SCORERS ALScorer",
}


@pytest.mark.parametrize("path", PATHS)
def test_a_public_path_gives_its_names(path: str) -> None:
    module = import_module(path)
    promised = {*PATHS[path].split(), *getattr(module, "__all__", ())}
    assert promised
    assert [name for name in sorted(promised) if not hasattr(module, name)] == []


def test_names_of_one_thing_are_one_thing() -> None:
    whole = import_module("stt_ru.streaming")
    for path in PATHS:
        if path.startswith("stt_ru.streaming."):
            face = import_module(path)
            for name in set(face.__all__) & set(whole.__all__):
                assert getattr(face, name) is getattr(whole, name), f"{path}.{name}"
