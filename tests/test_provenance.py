from __future__ import annotations

from importlib.metadata import version

from stt_ru.manifest import Sample
from stt_ru.provenance import SCORED_BY, Signature, join, references_digest, sign, sign_again


def test_the_digest_of_references_knows_what_is_compared() -> None:
    base = references_digest([Sample("a.wav", "Да!")])
    assert references_digest([Sample("a.wav", "да")]) == base
    assert references_digest([Sample("a.wav", "нет")]) != base
    assert references_digest([Sample("a.wav", "да", 0)]) != base
    assert references_digest([Sample("b.wav", "да")]) != base


def test_the_digest_of_references_tells_variants_apart_when_they_are_read() -> None:
    def digest(text: str, *, variants: bool) -> str:
        return references_digest([Sample("a.wav", text)], variants=variants)

    assert digest("Да, нет", variants=True) == digest("да нет", variants=False)
    assert digest("{Да|нет}", variants=True) == digest("{да|нет}", variants=True)
    assert digest("{да|нет}", variants=True) != digest("{да} нет", variants=True)
    assert digest("{да|нет}", variants=False) == digest("да нет", variants=False)


def test_a_signature_can_be_taken_apart_again() -> None:
    signature = Signature({"model": "C:\\a|b", "lang": "ru"})
    assert str(signature) == "model:C%3A\\a%7Cb|lang:ru"


def test_a_signature_says_the_model_the_rules_and_the_packages_in_this_order() -> None:
    samples = [Sample("a.wav", "да")]
    rules = f"norm:ru-1|split:rapidfuzz|empty:insertions|rows:1|refs:{references_digest(samples)}"
    ours = f"stt-ru:{version('stt-ru')}"
    texts = sign({"model": "m", "beam": 4}, samples, packages=SCORED_BY)
    assert str(texts) == f"model:m|beam:4|{rules}|{ours}"
    heard = str(sign({"model": "m"}, samples))
    assert heard.startswith(f"model:m|{rules}|{ours}|onnx-asr:")
    assert "|onnxruntime:" in heard
    read = sign({"model": "m"}, samples, variants=True).fields
    assert list(read)[1:6] == ["norm", "split", "empty", "variants", "rows"]


def test_texts_scored_again_keep_how_they_were_recognised() -> None:
    earlier = {"model": "m", "norm": "ru-0", "rows": "7", "stt-ru": "0.1"}
    fields = sign_again(earlier, [Sample("a.wav", "да")], variants=False).fields
    assert (fields["model"], fields["norm"], fields["rows"], fields["stt-ru"]) == (
        "m",
        "ru-1",
        "1",
        "0.1",
    )


def test_parts_name_what_differs_between_them() -> None:
    samples = [Sample("a.wav", "да"), Sample("b.wav", "нет")]
    parts = [Signature({"model": "m", "channel": channel}) for channel in ("own", "mix")]
    fields = join([*parts, None], samples).fields
    assert fields == {
        "model": "m",
        "channel": "own+mix",
        "rows": "2",
        "refs": references_digest(samples),
    }
