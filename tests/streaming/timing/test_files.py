import json
from pathlib import Path

import pytest

from stt_ru.errors import UsageError
from stt_ru.manifest import Sample, load_manifest
from stt_ru.streaming.timing.files import (
    check_same_words,
    read_ctm,
    read_textgrid,
    save_timings,
    timings_from_words,
    words_in_time,
)
from stt_ru.streaming.timing.transcription import timed_transcription


def test_timings_from_a_manifest() -> None:
    rows = [
        {"word": "Кто-то", "start": 0, "end": 0.5},
        {"word": "5", "start": 0.6, "end": 1, "interpolated": True},
    ]
    timed = timings_from_words(rows, "m.jsonl:1")
    assert timed.words == ["кто", "то", "5"]
    assert [t.is_interpolated for t in timed.tokens] == [False, False, True]
    assert timings_from_words(json.dumps(rows), "m.csv:2").words == timed.words


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param({}, "нужен список", id="not a list"),
        pytest.param("[", "не JSON", id="not JSON"),
        pytest.param([{"word": "а", "start": 1}], "элемент 1", id="no end"),
        pytest.param([{"word": "а", "start": 2, "end": 1}], "невозможно", id="backwards"),
        pytest.param(["а"], "элемент 1", id="not an object"),
    ],
)
def test_bad_timings_in_a_manifest_are_refused(words: object, message: str) -> None:
    with pytest.raises(UsageError, match=f"m:1: words: .*{message}"):
        timings_from_words(words, "m:1")


def test_words_other_than_the_reference_are_refused() -> None:
    timed = timed_transcription(["раз", "два"], [(0, 1), (1, 2)])
    check_same_words(timed, "Раз, два!", "m:1")
    with pytest.raises(UsageError, match="слово 2 – «два», а в тексте «три»"):
        check_same_words(timed, "раз три", "m:1")
    with pytest.raises(UsageError, match="слово 3 – «ничего»"):
        check_same_words(timed, "раз два три", "m:1")


def test_ctm(tmp_path: Path) -> None:
    file = tmp_path / "a.ctm"
    file.write_text(";; comment\ncall 1 0.50 0.25 два 0.9\ncall 1 0.1 0.2 раз\nb A 0 1 x\n")
    words = read_ctm(file)
    timed = words_in_time(words["call"])
    assert [(t.value, t.start_time, t.end_time) for t in timed.tokens] == [
        ("раз", 0.1, pytest.approx(0.3)),
        ("два", 0.5, 0.75),
    ]
    file.write_bytes("  ;; примечание\na 1 0 1 <ALT>\na 1 1 1 да\n".encode("utf-16"))
    assert [word.word for word in read_ctm(file)["a"]] == ["<ALT>", "да"]
    file.write_text("call 1 -1 0 да\n")
    with pytest.raises(UsageError, match=r"a\.ctm:1: «-1»: здесь нужно время в секундах от 0"):
        read_ctm(file)
    file.write_text("call 1 0.1\n")
    with pytest.raises(UsageError, match=r"none\.ctm: такого файла или каталога нет"):
        read_ctm(tmp_path / "none.ctm")
    with pytest.raises(UsageError, match=r"a.ctm:1"):
        read_ctm(file)


TEXTGRID = """File type = "ooTextFile"
Object class = "TextGrid"

xmin = 0
xmax = 2
tiers? <exists>
size = 2
item []:
    item [1]:
        class = "IntervalTier"
        name = "phones"
        xmin = 0
        xmax = 2
        intervals: size = 1
        intervals [1]:
            xmin = 0
            xmax = 2
            text = "r"
    item [2]:
        class = "IntervalTier"
        name = "Words"
        xmin = 0
        xmax = 2
        intervals: size = 3
        intervals [1]:
            xmin = 0
            xmax = 0.3
            text = ""
        intervals [2]:
            xmin = 0.3
            xmax = 0.9
            text = "раз"
        intervals [3]:
            xmin = 0.9
            xmax = 2
            text = "так ""называемый"" день"
"""


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_textgrid(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "a.TextGrid"
    file.write_text(TEXTGRID, encoding=encoding)
    timed = words_in_time(read_textgrid(file))
    assert timed.words == ["раз", "так", "называемый", "день"]
    assert timed.tokens[0].end_time == 0.9
    file.write_text(TEXTGRID.replace("Words", "other"))
    with pytest.raises(UsageError, match="«phones», «other»"):
        read_textgrid(file)


SHORT_TEXTGRID = """File type = "ooTextFile"
Object class = "TextGrid"

0
2
<exists>
2
"TextTier"
"события"
0
2
1
0.5
"щелчок 7"
"IntervalTier"
"words"
0
2
2
0
0.3
""
0.3
0.9
"раз"
"""


def test_a_short_textgrid_is_read_like_a_long_one(tmp_path: Path) -> None:
    file = tmp_path / "a.TextGrid"
    file.write_text(SHORT_TEXTGRID, encoding="utf-8")
    (word,) = read_textgrid(file)
    assert (word.word, word.start_s, word.end_s) == ("раз", 0.3, 0.9)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("раз два три", id="another file"),
        pytest.param(SHORT_TEXTGRID.replace("0.9", "конец"), id="not a number"),
        pytest.param(SHORT_TEXTGRID[:-8], id="truncated"),
    ],
)
def test_a_file_that_is_not_a_textgrid_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "a.TextGrid"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=r"a.TextGrid: это не текстовый TextGrid"):
        read_textgrid(file)


def test_saved_timings_are_a_manifest(tmp_path: Path) -> None:
    audio = tmp_path / "calls" / "a.wav"
    audio.parent.mkdir()
    audio.write_bytes(b"")
    sample = Sample("a.wav", "Раз, два", 1, {"speaker": "x"}, audio)
    timed = timed_transcription(["раз", "два"], [(0.1, 0.2), (0.3, 0.51234567)])
    target = tmp_path / "timed.jsonl"
    save_timings(target, [(sample, timed)])
    (again,) = load_manifest(target)
    assert (again.text, again.channel, again.extra["speaker"]) == ("Раз, два", 1, "x")
    assert again.path.resolve() == audio.resolve()
    loaded = timings_from_words(again.extra["words"], "timed.jsonl:1")
    assert [(t.value, t.end_time) for t in loaded.tokens] == [("раз", 0.2), ("два", 0.5123)]
