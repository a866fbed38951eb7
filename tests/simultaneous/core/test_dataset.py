"""Sources and references from two files or a manifest."""

from __future__ import annotations

from pathlib import Path

import pytest

from stt_ru.errors import UsageError
from stt_ru.manifest import load_manifest
from stt_ru.simultaneous.core.dataset import SpeechDataset, dataset_of_files, dataset_of_samples
from stt_ru.simultaneous.core.instance import SpeechSource, TextSource
from tests.conftest import tone, write_wav


def write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def test_lines_of_two_files_are_pairs(tmp_path: Path) -> None:
    source = write(tmp_path / "s.txt", "\ufeffраз два\r\n\r\nтри\r\n")
    data = dataset_of_files(source, write(tmp_path / "t.txt", "а\nб\nв"), "text")

    assert [data.name(i) for i in range(len(data))] == ["раз два", "", "три"]
    assert [data.reference(i) for i in range(3)] == ["а", "б", "в"]
    first = data.load(0)
    assert isinstance(first, TextSource)
    assert first.words == ["раз", "два"]


def test_files_of_different_lengths_are_refused(tmp_path: Path) -> None:
    source = write(tmp_path / "s.txt", "раз\nдва\n")
    with pytest.raises(UsageError, match=r"2, в .*: 1, а нужно поровну"):
        dataset_of_files(source, write(tmp_path / "t.txt", "а\n"), "text")
    with pytest.raises(UsageError, match="пуст"):
        dataset_of_files(write(tmp_path / "e.txt", ""), None, "text")


def test_recordings_are_found_beside_their_list_and_brought_to_a_rate(tmp_path: Path) -> None:
    write_wav(tmp_path / "a.wav", tone(0.5), sample_rate=8_000)
    source = write(tmp_path / "s.txt", f"a.wav\n{tmp_path / 'a.wav'}\n")
    data = dataset_of_files(source, None, "speech", sample_rate=16_000)
    loaded = [data.load(i) for i in range(2)]

    for recording in loaded:
        assert isinstance(recording, SpeechSource)
        assert recording.sample_rate == 16_000
        assert len(recording.samples) == 16_000
    assert data.reference(0) is None


def test_missing_recordings_are_named_with_their_lines(tmp_path: Path) -> None:
    source = write(tmp_path / "s.txt", "нет.wav\n\n")
    with pytest.raises(UsageError) as caught:
        dataset_of_files(source, None, "speech")

    assert "s.txt:1: записи «нет.wav» нет" in str(caught.value)
    assert "s.txt:2: строка пуста" in str(caught.value)


def test_a_manifest_gives_recordings_with_their_channels(tmp_path: Path) -> None:
    write_wav(tmp_path / "a.wav", tone(0.1))
    manifest = write(tmp_path / "m.csv", "audio,text,channel\na.wav,раз,0\n")
    data = dataset_of_samples(load_manifest(manifest))

    assert isinstance(data, SpeechDataset)
    assert data.items[0].channel == 0
    assert (data.name(0), data.reference(0)) == ("a.wav", "раз")


def test_other_references_have_another_fingerprint(tmp_path: Path) -> None:
    source = write(tmp_path / "s.txt", "раз\n")
    one, other = (
        dataset_of_files(source, write(tmp_path / "t.txt", text), "text").fingerprint
        for text in ("а\n", "б\n")
    )

    assert one != other
