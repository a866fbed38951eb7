from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stt_ru.analysis.aligned_rows import AlignedReport
from stt_ru.analysis.significance import describe
from stt_ru.errors import UsageError
from stt_ru.evaluation import evaluate
from stt_ru.manifest import Sample
from stt_ru.report.json_write import json_report
from stt_ru.report.sentences import verdict
from stt_ru.report.table import format_table
from stt_ru.scoring.multi_reference import score_reference
from stt_ru.text.marked_references import Marked
from stt_ru.transcripts import ColumnNames, score_files
from stt_ru.transcripts.detection import detect
from stt_ru.transcripts.rescoring import Scored
from tests.conftest import FakeRecognizer

Score = Callable[..., Scored]

STM = """;; a comment
call 1 anna 0.00 2.00 <o,f0,female> Да, мама мыла раму
call 2 oleg 1.00 3.00 <o,f0,male> нет
call 1 anna 2.50 4.00 IGNORE_TIME_SEGMENT_IN_SCORING
call 1 anna 4.00 6.00 пока
"""
CTM = """call 1 0.10 0.20 да 0.9
call 1 0.40 0.20 мама
call 1 1.20 0.40 раму
call 1 1.90 1.00 пока
call 1 3.00 0.20 кхм
call 2 1.10 0.20 нет
call 3 1.10 0.20 кто
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(**files: str) -> None:
    for name, text in files.items():
        stem, _, suffix = name.partition("__")
        Path(f"{stem}.{suffix}" if suffix else stem).write_text(text, encoding="utf-8")


def rows(scored: Scored, number: int = 0) -> list[tuple[str, str, str | None]]:
    report = scored.reports[number]
    return [(row.audio, row.reference, row.hypothesis) for row in report.results]


def counts(scored: Scored) -> list[tuple[int, int]]:
    """Word errors and reference words of each system."""
    return [(r.score.words.errors, r.score.words.length) for r in scored.reports]


def test_variants_of_references_are_read_from_every_kind_of_file(place: Path) -> None:
    true, heard = "{тысяча|1000} рублей {ну}", "1000 рублей"
    write(
        refs__txt=f"{true}\n",
        hyps__txt=f"{heard}\n",
        refs__trn="{ тысяча / 1000 / @ } рублей {ну} <*> (1)\n",
        hyps__trn=f"{heard} и что-то (1)\n",
        refs__stm=f"call 1 anna 0.00 2.00 <*> {true}\n",
        hyps__ctm="call 1 0.1 0.1 ой\ncall 1 0.4 0.1 1000\ncall 1 0.6 0.1 рублей\n",
        both__csv=f"id,text,pred_text\n1,{true},{heard}\n",
        both__jsonl=json.dumps({"id": "1", "text": true, "pred_text": heard}),
    )
    for files in (
        ["refs.txt", "hyps.txt"],
        ["refs.trn", "hyps.trn"],
        ["refs.stm", "hyps.ctm"],
        ["both.csv"],
        ["both.jsonl"],
    ):
        scored = score_files(files, variants=True)
        assert counts(scored) == [(0, 2)], files
        (row,) = scored.reports[0].results
        assert row.chosen is not None
        assert "1000 рублей" in row.chosen
        assert scored.reports[0].signature is not None
        assert scored.reports[0].signature.fields["variants"] == "1"
        assert scored.notices == []


def test_marks_that_cannot_be_read_name_their_file_and_line(place: Path) -> None:
    write(
        refs__txt="да\n{а|б\nнет}\n",
        hyps__txt="да\nа\nнет\n",
        both__csv="id,text,pred_text\n1,да,да\n2,{а|б,б\n",
    )
    with pytest.raises(UsageError, match=r"refs\.txt:2: скобка открыта(.|\n)*refs\.txt:3: лишняя"):
        score_files(["refs.txt", "hyps.txt"], variants=True)
    with pytest.raises(UsageError, match=r"both\.csv:3: скобка открыта"):
        score_files(["both.csv"], variants=True)
    write(**{"m__csv": "audio,text\nстрока 1,{}\n", "r__json": report_text("{а", "а")})
    with pytest.raises(UsageError, match=r"m\.csv:2: в «\{\}» нет ни одного слова"):
        score_files(["r.json"], manifest="m.csv", variants=True)
    with pytest.raises(UsageError, match=r"r\.json: запись 1 \(0\.wav\): скобка открыта"):
        score_files(["r.json"], variants=True)
    both = json.loads(report_text("да", "да"))
    both["models"] += json.loads(report_text("{а", "а"))["models"]
    write(r__json=json.dumps(both))
    with pytest.raises(UsageError, match=r"r\.json: запись 1 \(0\.wav\): скобка открыта"):
        score_files(["r.json"], variants=True)


def test_marks_that_are_not_read_are_said(place: Path) -> None:
    write(
        refs__txt="да\n{а|б}\n<*>\n",
        hyps__txt="да\nа\nнет\n",
        m__csv="audio,text\n0.wav,{а|б}\n",
        r__json=report_text("а", "а"),
    )
    (notice,) = score_files(["refs.txt", "hyps.txt"]).notices
    assert notice.startswith("refs.txt:2: в тексте «{а|б}» есть скобки {…} или <*> (и ещё в ")
    (notice,) = score_files(["r.json"], manifest="m.csv").notices
    assert notice.startswith("m.csv:2: в тексте «{а|б}» есть скобки {…} или <*>, прочитаны как")


def test_a_report_made_with_variants_is_scored_again_with_them(place: Path) -> None:
    text = report_text("{тысяча|1000} рублей <*>", "1000 рублей точно", variants=True)
    write(r__json=text, m__csv="audio,text\n0.wav,{сто|100} рублей <*>\n")
    again = score_files(["r.json"])
    assert again.reports[0].results[0].chosen == "1000 рублей <*>"
    assert (counts(again), again.notices) == ([(0, 2)], [])
    corrected = score_files(["r.json"], manifest="m.csv")
    assert corrected.reports[0].results[0].chosen in ("сто рублей <*>", "100 рублей <*>")
    assert counts(corrected) == [(1, 2)]
    write(plain__json=report_text("{тысяча|1000} рублей <*>", "1000 рублей точно"))
    both = score_files(["plain.json", "r.json"])
    assert counts(both) == [(0, 2), (0, 2)]
    assert both.notices == [
        "варианты в эталонах прочитаны во всех файлах: с --variants сделан отчёт «fake [2]»"
    ]


def report_text(reference: str, heard: str, *, variants: bool = False) -> str:
    report = evaluate(
        FakeRecognizer({"0.wav": heard}), [Sample("0.wav", reference)], variants=variants
    )
    now = datetime(2026, 11, 30, tzinfo=UTC)
    return "".join(json_report([report], manifest="eval.csv", created_at=now))


def test_lines_meet_lines_and_one_letter_and_an_empty_line_count(place: Path) -> None:
    write(refs__txt="мама мыла раму\nя\nда нет\n", hyps__txt="мама раму\nя\n\n")
    scored = score_files(["refs.txt", "hyps.txt"])
    assert counts(scored) == [(3, 6)]
    assert rows(scored)[1] == ("строка 2", "я", "я")
    assert rows(scored)[2] == ("строка 3", "да нет", "")
    assert scored.notices == []


def test_a_line_break_at_the_end_is_no_line_and_windows_ones_are_read(place: Path) -> None:
    write(refs__txt="да\r\nнет\u2028пока\r\n", hyps__txt="да\nнет")
    assert counts(score_files(["refs.txt", "hyps.txt"])) == [(1, 3)]


def test_several_systems_are_models_of_one_table(place: Path) -> None:
    write(refs__txt="да нет\n", a__txt="да нет\n", b__txt="да\n")
    scored = score_files(["refs.txt", "a.txt", "b.txt"])
    assert [report.label for report in scored.reports] == ["a.txt", "b.txt"]
    assert counts(scored) == [(0, 2), (1, 2)]
    assert format_table(scored.reports).splitlines()[1].split()[3] == "–"


def test_texts_with_ids_meet_by_id_in_the_order_of_the_references(place: Path) -> None:
    write(text="u-1 Мама мыла\nu-2 да\nu-3 нет\n", hyp="u-3 нет\nu-9 лишний\nu-1 мама\nu-2\n")
    scored = score_files(["text", "hyp"])
    assert rows(scored) == [("u-1", "Мама мыла", "мама"), ("u-2", "да", ""), ("u-3", "нет", "нет")]
    assert "не сравниваются тексты без эталона (1): «u-9»" in scored.notices[-1]
    assert "прочитан как «id текст» (Kaldi)" in scored.notices[0]


def test_a_missing_text_is_a_failed_row_never_dropped(place: Path) -> None:
    write(text="u-1 мама мыла\nu-2 да\n", hyp="u-1 мама мыла\n")
    (report,) = score_files(["text", "hyp"]).reports
    assert (report.failed, report.files, report.wer) == (1, 2, 0.0)
    assert report.results[1].error == "в hyp нет текста с этим id"


def test_russian_lines_are_never_taken_for_ids(place: Path) -> None:
    write(refs__txt="2013 год\n2014 год\n", hyps__txt="2013 год\n2014 года\n")
    assert counts(score_files(["refs.txt", "hyps.txt"])) == [(1, 4)]


def test_trn(place: Path) -> None:
    write(
        refs__trn=";; sclite\nмама мыла (раму) (spk1-001)\n(spk1-002)\n",
        hyps__trn="слово (spk1-002)\nмама мыла раму (spk1-001)\n",
    )
    scored = score_files(["refs.trn", "hyps.trn"])
    assert rows(scored)[1] == ("spk1-002", "", "слово")
    assert counts(scored) == [(1, 3)]


def test_a_table_may_end_its_lines_with_a_carriage_return(place: Path) -> None:
    write(pairs__csv="text;hyp\rда;да\rнет, да;нет\r")
    assert counts(score_files(["pairs.csv"])) == [(1, 3)]


def test_words_of_a_ctm_find_the_segments_of_an_stm_by_their_middle(place: Path) -> None:
    write(refs__stm=STM, hyps__ctm=CTM)
    scored = score_files(["refs.stm", "hyps.ctm"])
    first, other, last = scored.reports[0].results
    assert (first.hypothesis, other.hypothesis, last.hypothesis) == ("да мама раму", "нет", "")
    assert first.audio == "call 1 0.00-2.00"
    assert (first.duration, first.extra["speaker"]) == (2.0, "anna")
    assert first.extra["label"] == "o,f0,female"
    told = " ".join(scored.notices)
    assert "IGNORE_TIME_SEGMENT_IN_SCORING не сравниваются (2)" in told  # «пока» at 2.4 s, «кхм»
    assert "вне отрезков эталона отнесены к ближайшим отрезкам (1)" in told
    assert "без эталона (1): «call 3»" in told


def test_a_recording_without_a_word_in_the_ctm_is_missing_not_silent(place: Path) -> None:
    write(refs__stm="a 1 x 0 1 да\nb 1 x 0 1 нет\nb 1 x 2 3 да\n", hyps__ctm="b 1 0.1 0.1 нет\n")
    (report,) = score_files(["refs.stm", "hyps.ctm"]).reports
    assert [row.error is not None for row in report.results] == [True, False, False]
    assert report.results[2].hypothesis == ""


def test_a_ctm_meets_references_of_whole_recordings(place: Path) -> None:
    write(refs__trn="мама мыла (a)\n", hyps__ctm="a 1 0.5 0.1 мыла\na 1 0.1 0.1 мама\n")
    assert counts(score_files(["refs.trn", "hyps.ctm"])) == [(0, 2)]


def test_nemo_manifests_hold_both_texts_whatever_their_suffix(place: Path) -> None:
    line = {"audio_filepath": "a.wav", "duration": 2.5, "text": "да нет", "pred_text": "да"}
    text = json.dumps(line, ensure_ascii=False) + "\n"
    write(a__json=text, b__jsonl=text.replace('"да"', '"да нет"'))
    scored = score_files(["a.json", "b.jsonl"])
    assert counts(scored) == [(1, 2), (0, 2)]
    row = scored.reports[0].results[0]
    assert (row.audio, row.duration, row.extra) == ("a.wav", 2.5, {})


def test_columns_are_named_on_the_command_line_and_other_lines_are_said(place: Path) -> None:
    lines = '{"_meta": {"model": "x"}}\n' + "".join(
        json.dumps({"idx": n, "ref_raw": "Да, нет", "hyp_raw": "да", "snr": 3}) + "\n"
        for n in range(2)
    )
    write(a__jsonl=lines)
    columns = ColumnNames(reference="ref_raw", hypothesis="hyp_raw", id="idx")
    scored = score_files(["a.jsonl"], columns=columns)
    assert rows(scored) == [("0", "Да, нет", "да"), ("1", "Да, нет", "да")]
    assert scored.reports[0].results[0].extra == {"snr": 3}
    assert scored.notices == [
        "a.jsonl:1: строка пропущена, в ней нет «ref_raw», «hyp_raw», «idx»: есть «_meta»"
    ]


def test_csv_of_excel(place: Path) -> None:
    write(a__csv='\ufeffid;Reference;hypothesis\n1;"да; нет\nпока";"да ""нет"" пока"\n\n2;я;\n')
    scored = score_files(["a.csv"])
    assert rows(scored) == [("1", "да; нет\nпока", 'да "нет" пока'), ("2", "я", "")]


def test_a_manifest_is_a_file_of_references(place: Path) -> None:
    write(
        eval__csv="audio,text,channel\na.wav,да,0\na.wav,нет,1\n",
        hyps__jsonl='{"audio": "a.wav", "channel": 1, "text": "нет"}\n'
        '{"audio": "a.wav", "channel": 0, "text": null}\n',
    )
    first, second = score_files(["eval.csv", "hyps.jsonl"]).reports[0].results
    assert first.error == "в hyps.jsonl у этой записи нет текста"
    assert (second.channel, second.wer) == (1, 0.0)


def stored_report(place: Path) -> Path:
    samples = [Sample("a.wav", "мама мыла"), Sample("b.wav", "да"), Sample("b.wav", "нет")]
    for name in ("a.wav", "b.wav"):
        (place / name).touch()
    report = evaluate(FakeRecognizer({"a.wav": "мама мыло", "b.wav": "да"}), samples)
    file = place / "report.json"
    pieces = json_report([report], manifest="eval.csv", created_at=datetime.now(tz=UTC))
    file.write_text("".join(pieces), encoding="utf-8")
    return file


def test_a_report_scored_again_is_the_same_but_for_the_speed(place: Path) -> None:
    path = stored_report(place)
    (report,) = score_files([path]).reports
    before = json.loads(path.read_text(encoding="utf-8"))["models"][0]
    assert str(report.signature) == before["signature"]
    assert (report.wer, report.cer, report.speed) == (before["wer"], before["cer"], None)


def test_corrected_references_cost_no_recognition(place: Path) -> None:
    path = stored_report(place)
    write(fixed__csv="audio,text,kind\n./a.wav,Мама мыло,x\nb.wav,да,y\nc.wav,что,z\n")
    scored = score_files([path], manifest="fixed.csv")
    (report,) = scored.reports
    assert [row.wer for row in report.results] == [0.0, 0.0, None]
    assert report.results[2].error == "в отчёте нет текста этой записи и канала"
    assert report.results[0].extra == {"kind": "x"}
    assert report.signature is not None
    assert report.signature.fields["rows"] == "3"
    write(fixed__csv="audio,text\nb.wav,да\n")
    scored = score_files([path], manifest="fixed.csv")
    assert "в манифесте нет записей отчёта, они не сравниваются (1): «a.wav»" in scored.notices[0]


def test_two_reports_of_one_model_are_told_apart(place: Path) -> None:
    path = stored_report(place)
    labels = [report.label for report in score_files([path, path]).reports]
    assert labels == ["fake [1]", "fake [2]"]


def test_different_references_are_said(place: Path) -> None:
    write(
        a__jsonl='{"id": 1, "text": "да", "pred_text": "да"}\n',
        b__jsonl='{"id": 1, "text": "нет", "pred_text": "да"}\n',
    )
    assert "эталоны в файлах различаются" in score_files(["a.jsonl", "b.jsonl"]).notices[-1]


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        pytest.param(("a.txt", "да\nнет"), ("b.txt", "да"), "строк 2, а в b.txt 1", id="lines"),
        pytest.param(("a.txt", "да"), ("b.trn", "да (u-1)"), "в a.txt их нет", id="ids"),
        pytest.param(("a.trn", "да (1)\nнет (1)"), ("b.trn", ""), r"trn:2: id «1»", id="twice"),
        pytest.param(("a.trn", "да"), ("b.trn", ""), r"a\.trn:1: .* нужен id", id="trn"),
        pytest.param(("a.trn", "{ да / а } (1)"), ("b.trn", ""), "варианты", id="alternatives"),
        pytest.param(("a.trn", "да (1)"), ("b.trn", "да (2)"), "ни один id", id="strangers"),
        pytest.param(("a.stm", "a 1 x 0 да"), ("b.ctm", ""), r"stm:1: .*нужно время", id="stm"),
        pytest.param(("a.stm", "a 1 x 0"), ("b.ctm", ""), r"stm:1: .* STM нужны", id="stm short"),
        pytest.param(("a.stm", "a 1 x 5 1 да"), ("b.ctm", ""), "раньше начала", id="times"),
        pytest.param(("a.stm", "a 1 x 0 1 да"), ("b.ctm", "a 1 x"), "CTM нужны", id="ctm"),
        pytest.param(("a.stm", "a 1 x 0 1 да"), ("b.ctm", "a 1 -1 0 да"), "«-1»", id="negative"),
        pytest.param(("a.stm", "a 1 x 0 1 да"), ("b.ctm", "a 1 * * <ALT_BEGIN>"), "<ALT", id="alt"),
        pytest.param(("a.ctm", "a 1 0 1 да"), ("b.ctm", ""), "эталоном нужен STM", id="ctm refs"),
        pytest.param(
            ("a.trn", "да (a)"), ("b.ctm", "a 1 0 1 да\na 2 0 1 да"), "каналы «1», «2»", id="two"
        ),
        pytest.param(("a.csv", "x,y\n1,2"), ("b.csv", "x\n1"), "--ref-column", id="column"),
        pytest.param(("a.csv", "text\nда"), ("b.csv", "x\n1"), "--hyp-column", id="hyp column"),
        pytest.param(("a.csv", 'text\n"да'), ("b.csv", ""), r"a\.csv:2: кавычка", id="quote"),
        pytest.param(("a.csv", "text\nда,нет"), ("b.csv", ""), "2 значения в строке", id="values"),
        pytest.param(("a.jsonl", "{"), ("b.jsonl", ""), r"a\.jsonl:1: .*не JSON", id="json"),
        pytest.param(("a.jsonl", "[1]"), ("b.jsonl", ""), "нужен объект", id="array"),
        pytest.param(("a.jsonl", '{"text": 5}'), ("b.jsonl", '{"text": ""}'), "text: «5»", id="5"),
        pytest.param(
            ("a.jsonl", '{"text": "а", "id": [1]}'), ("b.jsonl", '{"text": ""}'), "id –", id="id"
        ),
        pytest.param(("a.json", "{}"), ("b.txt", "да"), "ФАЙЛ|колонки с эталоном", id="no rows"),
        pytest.param(("a.trn", ""), ("b.trn", ""), "нет ни одного эталона", id="nothing"),
    ],
)
def test_files_that_do_not_fit_are_a_sentence(
    place: Path, first: tuple[str, str], second: tuple[str, str], message: str
) -> None:
    for name, text in (first, second):
        Path(name).write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=message):
        score_files([first[0], second[0]])


def test_one_text_alone_cannot_be_scored(place: Path) -> None:
    write(a__txt="да", b__csv="x,text\n1,да\n", empty__json='{"models": []}')
    with pytest.raises(UsageError, match="нужны два"):
        score_files(["a.txt"])
    with pytest.raises(UsageError, match="колонки: «x», «text»"):
        score_files(["b.csv"])
    with pytest.raises(UsageError, match="нет ни одной модели"):
        score_files(["empty.json"])
    with pytest.raises(UsageError, match="отчёт хранит"):
        score_files(["a.txt", stored_report(place)])
    with pytest.raises(UsageError, match="это папка"):
        score_files([place])


ROW = '{"id": "u-1", "text": "да нет", "pred_text": "да"}'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(ROW + "\n", "jsonl", id="JSON Lines"),
        pytest.param("\n " + ROW.replace("нет", "\u2028 нет") + "\n", "jsonl", id="blank first"),
        pytest.param('{"schema_version": 1,\n"models": []}', "report", id="report"),
        pytest.param('{"models": []}', "report", id="report in a line"),
        pytest.param("id\ttext\nа\tда\n", "csv", id="TSV"),
        pytest.param("Audio\tText\tspeaker\na.wav\tда\n", "csv", id="TSV with a short row"),
        pytest.param("диктор\ttext\nанна\tда\n", "csv", id="TSV with a Russian column"),
        pytest.param("id;reference;hypothesis\n1;да;нет\n", "csv", id="semicolons"),
        pytest.param('"audio","text"\n"a.wav","да"\n', "csv", id="quotes"),
        pytest.param("эталон\tслышно\nда\tнет\n", "csv", id="named by the user"),
        pytest.param("u-1\ttext\nu-2\tref\n", "kaldi", id="Kaldi with tabs"),
        pytest.param("text\ntrue\n123\n", "lines", id="a word a line"),
        pytest.param('"text"\nnull\n[1]\n', "lines", id="JSON, but no object"),
        pytest.param("{ну} {тысяча|1000}\n{да}\n", "lines", id="variants"),
        pytest.param("id, text\n1,да\n", "csv", id="a space after the comma"),
        pytest.param("text, да\nнет, нет\n", "lines", id="commas in speech"),
        pytest.param("мама\ttext\nмыла раму\n", "lines", id="a tab in one line"),
        pytest.param("мама\tмыла\nраму\tсама\n", "lines", id="tabs in all lines"),
        pytest.param("text\t\nда\tнет\n", "lines", id="a tab at the end"),
        pytest.param("мама\tref\n", "lines", id="nothing under it"),
        pytest.param("а," * 100_000 + "text", "lines", id="long"),
        pytest.param("а" * 200_000, "lines", id="long word"),
        pytest.param("[" * 100_000, "lines", id="brackets"),
        pytest.param('{"a":' * 100_000, "lines", id="braces"),
        pytest.param("", "lines", id="nothing"),
    ],
)
@pytest.mark.parametrize("path", ["texts.txt", "/dev/stdin"])
def test_where_the_suffix_says_nothing_the_content_does(
    text: str, expected: str, path: str
) -> None:
    assert detect(path, text, ["эталон", "слышно", None])[0] == expected


@given(
    st.lists(st.text(alphabet='абв ,;:\t{}[]"«»1', max_size=12), max_size=4),
    st.sampled_from(["", "text ", "мама text"]),
)
def test_russian_lines_are_never_taken_for_columns_or_objects(lines: list[str], first: str) -> None:
    assert detect("refs.txt", "\n".join([f"а {first}", *lines]))[0] == "lines"


def test_json_lines_and_tables_are_scored_whatever_their_suffix(place: Path) -> None:
    write(a__jsonl=ROW, a__txt=ROW, a=ROW, b="id\ttext\tpred_text\nu-1\tда нет\tда\n")
    scored = score_files(["a.jsonl", "a.txt", "a", "b"])
    assert counts(scored) == [(1, 2)] * 4
    assert scored.notices == [
        "b: прочитан как таблица с заголовком; если это не он: --format lines"
    ]


def test_the_format_can_be_forced(place: Path) -> None:
    write(refs__txt="u-1 да\n", hyps__txt="u-1 нет\n")
    assert counts(score_files(["refs.txt", "hyps.txt"], file_format="lines")) == [(1, 3)]
    write(refs__txt="00001 да\n", hyps__txt="00001 нет\n")
    assert counts(score_files(["refs.txt", "hyps.txt"], file_format="kaldi")) == [(1, 1)]
    with pytest.raises(UsageError, match="есть lines, kaldi"):
        score_files(["refs.txt"], file_format="docx")


def test_each_pair_is_scored_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scored: list[str] = []

    def counted(reference: str | Marked, hypothesis: str) -> object:
        scored.append(hypothesis)
        return score_reference(reference, hypothesis)

    monkeypatch.setattr("stt_ru.transcripts.rescoring.score_reference", counted)
    (tmp_path / "said.txt").write_text("a-1 да\na-2 нет\n", encoding="utf-8")
    (tmp_path / "heard.txt").write_text("a-1 да\na-2 но\n", encoding="utf-8")
    (tmp_path / "new.csv").write_text("audio,text\na-1,да\na-2,но\n", encoding="utf-8")
    files = (tmp_path / "said.txt", tmp_path / "heard.txt")
    assert score_files(files).reports[0].wer == 0.5
    assert scored == ["да", "но"]
    scored.clear()
    assert score_files(files, manifest=tmp_path / "new.csv").reports[0].wer == 0.0
    assert scored == ["да", "но"]


def test_systems_are_compared_on_the_rows_that_both_have(place: Path) -> None:
    def lines(numbers: range, heard: str) -> str:
        texts = ({"id": n, "text": f"да нет {n}", "pred_text": f"{heard} нет {n}"} for n in numbers)
        return "".join(json.dumps(row) + "\n" for row in texts)

    write(a__jsonl=lines(range(40), "да"), b__jsonl=lines(range(1, 41), "ну"))
    scored = score_files(["a.jsonl", "b.jsonl"])
    (pair,) = describe([AlignedReport(report) for report in scored.reports]).comparisons
    assert (pair.rows, pair.left_out, pair.wer_a) == (39, 2, 0.0)
    assert "a.jsonl лучше b.jsonl" in verdict(pair)
    assert "на общих строках (39; нет в паре или с другим эталоном: 2), 0.0 % и 33.3 %" in verdict(
        pair
    )
