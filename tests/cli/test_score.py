from __future__ import annotations

import json
import os
import sys

import pytest

from tests.cli.conftest import Place


@pytest.mark.slow
def test_an_evaluation_is_scored_again_with_corrected_references(place: Place) -> None:
    place.run("evaluate", "eval.csv", "-m", "fakes.py:good", "-o", "report.json")
    fixed = "audio;text\na.wav;Мама мыла рамы.\nb.wav;Да\n"
    (place.folder / "fixed.csv").write_text(fixed, encoding="utf-8")
    (place.folder / "a.wav").unlink()  # the recordings are not needed
    done = place.run("score", "report.json", "--manifest", "fixed.csv", "-o", "again.json")
    assert done.stdout.splitlines()[1].split()[:4] == ["fakes.py:good", "25.0", "6.2", "–"]
    again = json.loads((place.folder / "again.json").read_text(encoding="utf-8"))
    assert again["manifest"] == "fixed.csv"
    assert again["models"][0]["results"][0]["substitutions"] == 1
    place.run("score", "report.json", "--manifest", "fixed.csv", "-o", "page.html")
    page = (place.folder / "page.html").read_text(encoding="utf-8")
    assert (page.count('"src":"b.wav"'), page.count('"src":null')) == (1, 1)


@pytest.mark.slow
def test_variants_are_read_when_asked_and_again_from_the_report(place: Place) -> None:
    marked = "audio;text\na.wav;{Мама|Папа} мыл{а|} {раму|окно} {ну}\nb.wav;<*>\n"
    (place.folder / "eval.csv").write_text(marked, encoding="utf-8")
    done = place.run("evaluate", "eval.csv", "-m", "fakes.py:good", "--variants", "-o", "r.json")
    assert done.stdout.splitlines()[1].split()[1:3] == ["0.0", "0.0"]
    report = json.loads((place.folder / "r.json").read_text(encoding="utf-8"))["models"][0]
    assert [row["chosen"] for row in report["results"]] == ["Мама мыла раму", "<*>"]
    assert [row["words"] for row in report["results"]] == [3, 0]
    assert "|variants:1|" in report["signature"]
    again = place.run("score", "r.json", "-o", "again.json")
    assert again.stdout.splitlines()[1].split()[1:3] == ["0.0", "0.0"]
    assert json.loads((place.folder / "again.json").read_text(encoding="utf-8"))["models"][0][
        "results"
    ][0]["chosen"] == ("Мама мыла раму")
    place.run("report", "r.json", "-o", "page.html")
    page = (place.folder / "page.html").read_text(encoding="utf-8")
    assert '"branch":"Мама мыла раму"' in page
    done = place.run("evaluate", "eval.csv", "-m", "fakes.py:good", "-o", "plain.json", code=2)
    assert "eval.csv:3: в тексте «<*>» нет ни букв, ни цифр: «<*>» и варианты" in done.stderr
    plain = marked.replace("<*>", "Да <*>")
    (place.folder / "eval.csv").write_text(plain, encoding="utf-8")
    done = place.run("evaluate", "eval.csv", "-m", "fakes.py:good", "-o", "plain.json")
    assert (
        "Внимание: eval.csv:2: в тексте «{Мама|Папа} мыл{а|} {раму|окно} {ну}» есть" in done.stderr
    )
    done = place.run("compare", "plain.json", "r.json", code=2)
    assert "варианты в эталонах (variants: нет и 1)" in done.stderr
    (place.folder / "eval.csv").write_text(marked.replace("а|}", "а|"), encoding="utf-8")
    done = place.run("evaluate", "eval.csv", "-m", "fakes.py:good", "--variants", code=2)
    assert done.stderr.startswith("Ошибка: eval.csv:2: скобка открыта и не закрыта: «{")
    assert done.stdout == ""


@pytest.mark.slow
def test_a_missing_text_is_exit_1_and_a_wrong_file_exit_2(place: Place) -> None:
    (place.folder / "refs.trn").write_text("да (1)\nнет (2)\n", encoding="utf-8")
    (place.folder / "hyps.trn").write_text("да (1)\n", encoding="utf-8")
    done = place.run("score", "refs.trn", "hyps.trn", code=1)
    assert done.stdout.splitlines()[1].split() == ["hyps.trn", "0.0", "0.0", "–", "2", "1", "–"]
    assert "Ошибка: 2: в hyps.trn нет текста с этим id" in done.stderr
    assert "такого файла" in place.run("score", "refs.trn", "нет.trn", code=2).stderr
    done = place.run("score", "refs.trn", "hyps.trn", "-o", "hyps.trn", code=2)
    assert "кончаться на .json" in done.stderr
    (place.folder / "r.json").write_text("{", encoding="utf-8")
    assert "стёр бы r.json" in place.run("score", "r.json", "-o", "r.json", code=2).stderr
    assert "r.json:1: отчёт повреждён" in place.run("score", "r.json", code=2).stderr


def test_a_report_becomes_a_page(place: Place) -> None:
    place.run("evaluate", "eval.csv", "-m", "fakes.py:good", "-o", "report.json")
    done = place.run("report", "report.json", "-o", "page.html")
    assert done.stderr == "Отчёт: page.html\n"
    page = (place.folder / "page.html").read_text(encoding="utf-8")
    assert '"src":"a.wav"' in page
    assert "fakes.py:good" in page
    assert "кончаться на" in place.run("report", "report.json", "-o", "page.pdf", code=2).stderr
    done = place.run("report", "report.json", "-o", "page.md", "--embed-audio", code=2)
    assert "--embed-audio кладёт записи внутрь страницы" in done.stderr
    (place.folder / "a.wav").unlink()
    done = place.run("report", "report.json", "-o", "page.html", "--embed-audio")
    assert "Внимание: записей не найдено: 1 из 2 («a.wav»)" in done.stderr
    assert done.stderr.endswith("Отчёт: page.html\n")
    assert "data:audio" in (place.folder / "page.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_report_finds_its_recordings_from_another_folder(place: Place) -> None:
    (place.folder / "sub").mkdir()
    (place.folder / "elsewhere").mkdir()
    for name in ("a.wav", "b.wav", "eval.csv"):
        (place.folder / name).rename(place.folder / "sub" / name)
    place.run("evaluate", "sub/eval.csv", "-m", "fakes.py:good", "-o", "report.json")

    def page(report: str, *options: str) -> tuple[str, str]:
        away = Place(place.folder / "elsewhere")
        said = away.run("report", report, "-o", "page.html", *options).stderr
        return (away.folder / "page.html").read_text(encoding="utf-8"), said

    text, said = page("../report.json")  # the manifest's path is of the report's folder
    assert ('"src":"../sub/a.wav"' in text, said) == (True, "Отчёт: page.html\n")
    (place.folder / "report.json").rename(place.folder / "sub" / "report.json")
    text, said = page("../sub/report.json")  # beside the report
    assert ('"src":"../sub/a.wav"' in text, said) == (True, "Отчёт: page.html\n")
    (place.folder / "sub" / "report.json").rename(place.folder / "elsewhere" / "report.json")
    text, said = page("report.json")
    assert '"src":"' not in text
    assert "записей не найдено: 2 из 2" in said
    assert "--audio-dir" in said
    text, said = page("report.json", "--audio-dir", "../sub")
    assert ('"src":"../sub/a.wav"' in text, said) == (True, "Отчёт: page.html\n")
    for wrong in ("нет", "report.json"):
        arguments = ("report", "elsewhere/report.json", "-o", "x.html", "--audio-dir", wrong)
        assert "такого каталога нет" in place.run(*arguments, code=2).stderr


@pytest.mark.slow
def test_warnings_of_the_manifest_go_with_the_report(place: Place) -> None:
    with (place.folder / "eval.csv").open("a", encoding="utf-8") as manifest:
        manifest.write("b.wav;Да\n")
    arguments = ("evaluate", "eval.csv", "-m", "fakes.py:good", "-o", "report.json")
    (warning,) = [line for line in place.run(*arguments).stderr.splitlines() if "eval.csv:" in line]
    for command in (("report", "report.json", "-o", "page.md"), ("score", "report.json")):
        assert warning in place.run(*command).stderr.splitlines()
    (place.folder / "fixed.csv").write_text("audio;text\na.wav;Да\nb.wav;Да\n", encoding="utf-8")
    assert warning not in place.run("score", "report.json", "--manifest", "fixed.csv").stderr


@pytest.mark.slow
def test_spelling_is_shown_beside_the_table_when_asked(place: Place) -> None:
    (place.folder / "refs.trn").write_text("ну пять рублей (1)\n", encoding="utf-8")
    (place.folder / "hyps.trn").write_text("5 рублей (1)\n", encoding="utf-8")
    done = place.run("score", "refs.trn", "hyps.trn", "--numbers", "match", "--fillers")
    lines = done.stdout.splitlines()
    assert lines[1].split()[1] == "66.7"
    assert lines[3].startswith("WER по правилам, %  как есть  числа")
    assert lines[4].split() == ["hyps.trn", "66.7", "33.3", "66.7", "50.0", "0.0"]
    (place.folder / "names").write_text("одно\n", encoding="utf-8")
    done = place.run("score", "refs.trn", "hyps.trn", "--glossary", "names", code=2)
    assert "names:1: нужны хотя бы две формы" in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no such files there")
@pytest.mark.parametrize("name", ["канал", "/dev/zero", "/dev/stdin", "каталог"])
@pytest.mark.parametrize(
    "command",
    [
        ["score", "{}", "hyp.txt"],
        ["score", "hyp.txt", "{}"],
        ["score", "hyp.txt", "hyp.txt", "--glossary", "{}"],
        ["score", "hyp.txt", "--manifest", "{}.csv"],
        ["report", "{}", "-o", "out.html"],
        ["compare", "{}", "{}"],
        ["stream", "eval.csv", "-m", "tiny-ru", "--timings", "{}"],
        ["simul", "--source", "{}", "--target", "hyp.txt", "--agent", "agent.py"],
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_what_is_not_a_file_is_refused_and_never_waited_for(
    place: Place, command: list[str], name: str
) -> None:
    (place.folder / "hyp.txt").write_text("раз\n", encoding="utf-8")
    (place.folder / "каталог").mkdir()
    os.mkfifo(place.folder / "канал")
    os.mkfifo(place.folder / "канал.csv")
    done = place.run(*(word.format(name) for word in command), code=None)
    assert done.returncode == 2
    assert done.stderr.startswith("Ошибка: ")
