"""The options that commands share: each is declared once, and means the same everywhere.

A command writes ``vad_dir: options.VadFolder = None``; options of its own it makes by `option`.
Light on purpose: it is loaded for ``--help``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final

import typer

from stt_ru import defaults
from stt_ru.cli.russian import number, one_of, whole_number

MODEL: Final = "Модель"
AUDIO: Final = "Звук и поиск речи"
TEXT: Final = "Сравнение текстов"
REPORT: Final = "Таблица и отчёт"
WORK: Final = "Ход работы"
DATA: Final = "Данные"
METRICS: Final = "Показатели"
"""Headings of the help, under which options stand."""


def option(
    *names: str,
    help: str,
    panel: str,
    metavar: str | None = None,
    default: float | str | None = None,
    **more: Any,
) -> Any:
    """A typer option that stands under the heading ``panel``.

    Args:
        names: As it is typed.
        help: What it does; a whole sentence, unless ``default`` ends it.
        panel: The heading.
        metavar: What its value is called.
        default: The value it has when it is not given, where the help is to end with it.
        more: Of `typer.Option`.
    """
    if default is not None:
        value = default if isinstance(default, str) else f"{default:g}"
        help = f"{help} (по умолчанию {value})."
    return typer.Option(
        *names, help=help, metavar=metavar, show_default=False, rich_help_panel=panel, **more
    )


def folder_option(*names: str, help: str, panel: str) -> Any:
    """An option that names a folder."""
    return option(*names, metavar="КАТАЛОГ", panel=panel, help=help)


def count_option(name: str, *, help: str, panel: str, default: float | None = None) -> Any:
    """An option whose value is a whole number from 1."""
    return option(
        name, metavar="N", panel=panel, parser=whole_number(1), help=help, default=default
    )


def positive_option(
    name: str, *, metavar: str, help: str, panel: str, default: float | None = None
) -> Any:
    """An option whose value is a number above zero."""
    parser = number(0, exclusive=True)
    return option(name, metavar=metavar, panel=panel, parser=parser, help=help, default=default)


def argument(metavar: str, help: str) -> Any:
    """A typer argument."""
    return typer.Argument(metavar=metavar, show_default=False, help=help)


def model_option(help: str) -> Any:
    """``-m``; what may follow is the command's own."""
    return option(
        "-m",
        "--model",
        metavar="ИМЯ[=КАТАЛОГ]",
        panel=MODEL,
        help=help,
        autocompletion=_model_names,
    )


def _model_names(incomplete: str) -> list[str]:
    """Names for the Tab key."""
    from stt_ru.recognition.onnx_models import known_models
    from stt_ru.streaming.run.sources import STREAMING_ENGINES

    names = (*known_models(), *STREAMING_ENGINES)
    return [name for name in names if name.startswith(incomplete)]


# The model


def _weights(text: str) -> str | None:
    if not text.isalnum():  # it becomes a part of a file name
        raise typer.BadParameter(f"«{text}» – не то, нужно int8, none или другое одно слово")
    return None if text.lower() == "none" else text


Quantization = Annotated[
    str | None,  # None for the full weights
    option(
        "--quantization",
        metavar="ТИП",
        panel=MODEL,
        parser=_weights,
        help=f"Веса модели: {defaults.QUANTIZATION} (по умолчанию) или none – полные.",
    ),
]
Language = Annotated[
    str,
    option(
        "--language",
        metavar="КОД",
        panel=MODEL,
        help="Язык речи для многоязычных моделей",
        default=defaults.LANGUAGE,
    ),
]
Device = Annotated[
    str,
    option(
        "--device",
        metavar="УСТРОЙСТВО",
        panel=MODEL,
        parser=one_of(*defaults.DEVICES),
        help=", ".join(defaults.DEVICES).replace(
            defaults.DEVICE, f"{defaults.DEVICE} (по умолчанию)"
        )
        + ".",
    ),
]
Offline = Annotated[bool, option("--offline", panel=MODEL, help="Не обращаться к сети.")]

# Audio and the search for speech

Mono = Annotated[bool, option("--mono", panel=AUDIO, help="Свести каналы в один.")]
NoVad = Annotated[
    bool,
    option("--no-vad", panel=AUDIO, help="Распознавать звук целиком, без поиска речи."),
]
VadFolder = Annotated[
    Path | None, folder_option("--vad-dir", panel=AUDIO, help="Где лежит silero_vad.onnx.")
]
VadThreshold = Annotated[
    float,
    option(
        "--vad-threshold",
        metavar="P",
        panel=AUDIO,
        parser=number(0, 1, exclusive=True),
        help="Вероятность, с которой начинается речь",
        default=defaults.VAD_THRESHOLD,
    ),
]


def _milliseconds_option(name: str, help: str, default: float) -> Any:
    return option(name, metavar="МС", panel=AUDIO, parser=number(0), help=help, default=default)


MinSpeechMs = Annotated[
    float,
    _milliseconds_option("--min-speech-ms", "Отрезки короче отбрасываются", defaults.MIN_SPEECH_MS),
]
MaxSpeechS = Annotated[
    float,
    option(
        "--max-speech-s",
        metavar="С",
        panel=AUDIO,
        parser=number(1),
        help="Отрезки длиннее режутся в тихом месте",
        default=defaults.MAX_SPEECH_S,
    ),
]
MinSilenceMs = Annotated[
    float,
    _milliseconds_option(
        "--min-silence-ms", "Пауза короче не разделяет отрезки", defaults.MIN_SILENCE_MS
    ),
]
SpeechPadMs = Annotated[
    float, _milliseconds_option("--speech-pad-ms", "Запас по краям отрезка", defaults.SPEECH_PAD_MS)
]

# Texts


def allow_empty_option(help: str, panel: str) -> Any:
    """``--allow-empty``; which references are meant is the command's own."""
    return option("--allow-empty", panel=panel, help=help)


AllowEmpty = Annotated[
    bool,
    allow_empty_option(
        "Пустой эталон – запись без речи: всё распознанное в ней считается вставками.", TEXT
    ),
]
Variants = Annotated[
    bool,
    option(
        "--variants",
        panel=TEXT,
        help="Читать в эталонах варианты: {тысяча|1000} рублей, необязательное {ну}, что угодно "
        "<*>; считается то, что сказано.",
    ),
]
Numbers = Annotated[
    str,
    option(
        "--numbers",
        metavar="as-is|match",
        panel=TEXT,
        parser=one_of("as-is", "match"),
        help="match: показать WER и с числами, где «15» и «пятнадцать» – одно (по умолчанию "
        "as-is; WER таблицы не меняется).",
    ),
]
Fillers = Annotated[
    bool,
    option(
        "--fillers", panel=TEXT, help="Показать WER и без слов «ну», «э-э», «мм» в обоих текстах."
    ),
]
GlossaryFile = Annotated[
    Path | None,
    option(
        "--glossary",
        metavar="ФАЙЛ",
        panel=TEXT,
        help="Показать WER и с равными формами: в строке «яндекс = yandex = янд екс».",
    ),
]

# Table and report


def output_option(help: str, metavar: str = "ФАЙЛ") -> Any:
    """``-o``; what the file can be is the command's own."""
    return option("-o", "--output", metavar=metavar, panel=REPORT, help=help)


Output = Annotated[Path | None, output_option(f"Отчёт {', '.join(defaults.REPORT_SUFFIXES)}.")]
EmbedAudio = Annotated[
    bool,
    option("--embed-audio", panel=REPORT, help="Положить записи внутрь страницы .html."),
]


def _group_by_option(more: str = "") -> Any:
    return option(
        "--group-by",
        metavar="КОЛОНКА",
        panel=REPORT,
        help="Строки с одним значением этой колонки манифеста (звонок, диктор) зависят друг от "
        f"друга: учесть это в интервале «95 %» и в сравнении моделей.{more}",
    )


GroupBy = Annotated[
    str | None,
    _group_by_option(" WER каждого значения – в отчёте .html, .md, .xlsx."),
]
ComparedGroups = Annotated[str | None, _group_by_option()]

# Work

Quiet = Annotated[
    bool,
    option("-q", "--quiet", panel=WORK, help="Не показывать ход работы (ошибки выводятся)."),
]

# Agents, and systems behind a server

SpeechOrTexts = Annotated[
    Path | None,
    argument(
        "МАНИФЕСТ",
        "CSV, JSONL или каталог с записями и текстами, как у evaluate; вместо --source и --target.",
    ),
]
SourceFile = Annotated[
    Path | None,
    option(
        "--source",
        metavar="ФАЙЛ",
        panel=DATA,
        help="Источники, по одному в строке: тексты или пути к записям.",
    ),
]
TargetFile = Annotated[
    Path | None,
    option("--target", metavar="ФАЙЛ", panel=DATA, help="Эталоны, по одному в строке."),
]


def source_type_option(help: str) -> Any:
    """``--source-type``; what it is by default is the command's own."""
    return option(
        "--source-type",
        metavar="text|speech",
        panel=DATA,
        parser=one_of("text", "speech"),
        help=help,
    )


def quality_option(also: str = "") -> Any:
    """``--quality-metrics``; ``also`` is a measure that only this command has."""
    names = ", ".join(("CHRF", "WER", "CER", *([also] if also else [])))
    return option(
        "--quality-metrics",
        metavar="ИМЯ...",
        panel=METRICS,
        help=f"{' '.join(defaults.QUALITY_METRICS)} (по умолчанию), {names} или свои; можно "
        "несколько.",
    )


def latency_option(more: str) -> Any:
    """``--latency-metrics``; how computation-aware ones are asked for is the command's own."""
    return option(
        "--latency-metrics",
        metavar="ИМЯ...",
        panel=METRICS,
        help=f"{' '.join(defaults.LATENCY_METRICS)} (по умолчанию), LAAL, AP_HYP, ATD, "
        f"StartOffset, EndOffset, NumChunks, RTF{more}",
    )


LatencyUnitName = Annotated[
    str,
    option(
        "--eval-latency-unit",
        metavar="word|char",
        panel=METRICS,
        parser=one_of("word", "char"),
        help="У чего есть задержка: у слова (по умолчанию) или у буквы.",
    ),
]
NoReferenceLength = Annotated[
    bool,
    option(
        "--no-use-ref-len",
        panel=METRICS,
        help="Считать AL, LAAL и AP по длине написанного, а не эталона.",
    ),
]
Tokenizer = Annotated[
    str,
    option(
        "--sacrebleu-tokenizer",
        metavar="ИМЯ",
        panel=METRICS,
        help="Как BLEU делит текст на слова",
        default=defaults.TOKENIZER,
    ),
]
