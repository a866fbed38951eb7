from __future__ import annotations

import shutil
from pathlib import Path

import onnxruntime
import pytest

from stt_ru.defaults import EMBEDDED_MODEL
from stt_ru.errors import ModelLoadError, UsageError
from stt_ru.recognition.onnx_models import (
    LoadedModel,
    _embedded_folder,
    check_model_name,
    known_models,
    load_model,
    load_vad,
    providers_for,
)

CPU = ["CPUExecutionProvider"]


def load(
    name: str,
    folder: Path | None = None,
    *,
    quantization: str | None = "int8",
    offline: bool = True,
) -> LoadedModel:
    return load_model(
        name,
        folder=folder,
        quantization=quantization,
        providers=CPU,
        intra_op_threads=1,
        offline=offline,
    )


@pytest.mark.parametrize("name", ["tiny-ru", "gigaam-v3-e2e-rnnt", "whisper-base", "кто/угодно"])
def test_known_names_and_those_of_the_hub_are_taken(name: str) -> None:
    check_model_name(name, has_folder=False)


def test_a_kind_of_model_is_taken_with_a_folder_only() -> None:
    check_model_name("whisper", has_folder=True)
    with pytest.raises(UsageError, match="-m whisper=КАТАЛОГ"):
        check_model_name("whisper", has_folder=False)


@pytest.mark.parametrize(
    ("name", "near"),
    [("gigaam-v3-cct", "gigaam-v3-ctc"), ("whisper-bas", "whisper-base"), ("tinyru", "tiny-ru")],
)
def test_an_unknown_name_is_refused_with_the_nearest(name: str, near: str) -> None:
    with pytest.raises(UsageError, match=rf"нет модели «{name}»; похожие: .*{near}"):
        check_model_name(name, has_folder=False)


def test_a_name_like_no_other_lists_all() -> None:
    with pytest.raises(UsageError, match="известные: tiny-ru, gigaam-v2-ctc"):
        check_model_name("ъ", has_folder=False)


def test_onnx_asr_still_has_the_models_we_name() -> None:
    assert {"gigaam-v3-e2e-rnnt", "gigaam-v3-rnnt", "gigaam-v3-ctc"} <= set(known_models())


@pytest.mark.parametrize(
    ("available", "device", "expected"),
    [
        (CPU, "auto", CPU),
        (CPU, "cpu", CPU),
        (["CUDAExecutionProvider", *CPU], "auto", ["CUDAExecutionProvider", *CPU]),
        (["CUDAExecutionProvider", *CPU], "cpu", CPU),
        (["CoreMLExecutionProvider", *CPU], "auto", CPU),
        (["CoreMLExecutionProvider", *CPU], "coreml", ["CoreMLExecutionProvider", *CPU]),
        (["TensorrtExecutionProvider", *CPU], "auto", CPU),
    ],
)
def test_providers(
    monkeypatch: pytest.MonkeyPatch, available: list[str], device: str, expected: list[str]
) -> None:
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: available)
    assert providers_for(device) == expected


@pytest.mark.parametrize("device", ["cuda", "coreml", "directml", "tpu"])
def test_a_device_that_is_not_there_is_refused_with_a_hint(
    monkeypatch: pytest.MonkeyPatch, device: str
) -> None:
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: CPU)
    with pytest.raises(UsageError, match=device):
        providers_for(device)


def test_folders_that_are_no_models(tmp_path: Path) -> None:
    with pytest.raises(ModelLoadError, match=r"нет каталога .*нет с файлами модели gigaam-v3-ctc"):
        load("gigaam-v3-ctc", tmp_path / "нет")
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(ModelLoadError, match="не каталог"):
        load("gigaam-v3-ctc", file)
    with pytest.raises(ModelLoadError, match=r"нет файлов модели gigaam-v3-ctc: v\?_ctc\?int8"):
        load("gigaam-v3-ctc", tmp_path)


def test_broken_weights_are_named(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"broken")
    (tmp_path / "vocab.txt").write_text("а 0\n<blk> 1\n", encoding="utf-8")
    with pytest.raises(ModelLoadError, match="файлы модели nemo-conformer-ctc повреждены"):
        load("nemo-conformer-ctc", tmp_path)


def test_two_files_for_one_are_named(tmp_path: Path) -> None:
    for name in ("v2_ctc.onnx", "v3_ctc.onnx", "v3_vocab.txt"):
        (tmp_path / name).touch()
    with pytest.raises(ModelLoadError, match="несколько подходящих файлов"):
        load("gigaam-v3-ctc", tmp_path, quantization=None)


def test_offline_a_model_that_is_not_in_the_cache_names_the_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(ModelLoadError) as refusal:
        load("gigaam-v3-ctc")
    message = str(refusal.value)
    assert str(tmp_path / "models--istupakov--gigaam-v3-onnx") in message
    assert "уберите --offline" in message
    assert "-m gigaam-v3-ctc=КАТАЛОГ" in message


def test_a_vad_folder_without_the_vad_names_the_vad(tmp_path: Path) -> None:
    with pytest.raises(ModelLoadError, match=r"нет файла VAD silero_vad\.onnx"):
        load_vad(tmp_path, offline=True)
    (tmp_path / "silero_vad.onnx").write_bytes(b"broken")
    with pytest.raises(ModelLoadError, match="VAD Silero не загрузился"):
        load_vad(tmp_path, offline=True)


def test_the_embedded_model_needs_no_folder_and_no_network() -> None:
    loaded = load(EMBEDDED_MODEL)
    assert loaded.warnings == ()
    assert loaded.quantization == "int8"
    assert len(loaded.weights) == 12


def test_full_weights_stand_in_for_int8_with_a_warning(tmp_path: Path) -> None:
    shutil.copytree(_embedded_folder(), tmp_path / "model")
    loaded = load("nemo-conformer-ctc", tmp_path / "model")
    assert loaded.quantization is None
    assert loaded.warnings == ("весов int8 у модели nemo-conformer-ctc нет, взяты полные",)
    assert load("nemo-conformer-ctc", tmp_path / "model", quantization=None).warnings == ()


def test_other_weights_have_another_digest(tmp_path: Path) -> None:
    shutil.copytree(_embedded_folder(), tmp_path / "model")
    vocabulary = tmp_path / "model" / "vocab.txt"
    vocabulary.write_text(vocabulary.read_text(encoding="utf-8"), encoding="utf-8")
    same = load("nemo-conformer-ctc", tmp_path / "model", quantization=None)
    assert same.weights == load(EMBEDDED_MODEL).weights
    swapped = vocabulary.read_text(encoding="utf-8").replace("а ", "э ", 1)
    vocabulary.write_text(swapped, encoding="utf-8")
    other = load("nemo-conformer-ctc", tmp_path / "model", quantization=None)
    assert other.weights != same.weights
