"""typer in Russian: the frame of ``--help`` and the errors of the parser."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from typing import Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from stt_ru.cli.stdio import print_answer, print_message

ParserError: Final[type[Any]] = next(
    kind for kind in reversed(typer.BadParameter.__mro__) if hasattr(kind, "format_message")
)
"""What the errors of the parser have in common. typer exports it, as ``TyperException``, only from
0.28 on, so it is taken from an error that all versions export.
"""

_HELP_OF_ITS_OWN: Final = {  # options that typer adds itself
    "--help": "Показать эту справку и выйти.",
    "--install-completion": "Включить дополнение команд по Tab в текущей оболочке.",
    "--show-completion": "Показать код дополнения команд по Tab для текущей оболочки.",
}


class RussianCommand(TyperCommand):
    """A command whose help has Russian headings, and whose options are given once."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse an option of one value given twice, of which the last would be taken silently."""
        if args and not ctx.resilient_parsing:
            _refuse_repeats(ctx, self.make_parser(ctx).parse_args(args=list(args))[2])
        parsed: list[str] = super().parse_args(ctx, args)
        return parsed

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Name options and arguments; versions of typer differ in how they dress a metavar."""
        arguments = [
            parameter
            for parameter in self.get_params(ctx)
            if parameter.param_type_name == "argument"
        ]
        return [self.options_metavar or "", *map(_usage_piece, arguments)]

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        """Write the usage line."""
        _write_usage(self, ctx, formatter)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options."""
        _write_parameters(self, ctx, formatter)


class RussianGroup(TyperGroup):
    """A group of commands whose help has Russian headings."""

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        """Write the usage line."""
        _write_usage(self, ctx, formatter)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write commands and options."""
        rows = [
            (name, command.get_short_help_str(200))
            for name in self.list_commands(ctx)
            if (command := self.get_command(ctx, name)) is not None and not command.hidden
        ]
        with formatter.section("Команды"):
            formatter.write_dl(rows)
        _write_parameters(self, ctx, formatter)


def _refuse_repeats(ctx: Any, given: Sequence[Any]) -> None:
    """Refuse what is given more than once, unless help is asked for.

    Args:
        ctx: The parser's context.
        given: The parameters of the command line, one each time it is given.
    """
    if any(parameter.is_eager for parameter in given):
        return
    for parameter in given:
        has_one_value = parameter.param_type_name == "option" and not (
            parameter.is_flag or parameter.multiple
        )
        if has_one_value and given.count(parameter) > 1:
            raise typer.BadParameter(
                "указан несколько раз, а значение нужно одно", ctx=ctx, param=parameter
            )


def _usage_piece(argument: Any) -> str:
    name = f"{argument.metavar}..." if argument.nargs == -1 else str(argument.metavar)
    return name if argument.required else f"[{name}]"


def _write_usage(command: Any, ctx: Any, formatter: Any) -> None:
    pieces = " ".join(command.collect_usage_pieces(ctx))
    formatter.write_usage(ctx.command_path, pieces, prefix="Использование: ")


def _write_parameters(command: Any, ctx: Any, formatter: Any) -> None:
    sections: dict[str, list[tuple[str, str]]] = {}
    for parameter in command.get_params(ctx):
        record = parameter.get_help_record(ctx)
        if record is None:
            continue
        names, text = record
        title = parameter.rich_help_panel or "Параметры"
        if parameter.param_type_name == "argument":
            names, title = parameter.metavar, "Аргументы"
            text = text.removesuffix("[required]").rstrip()
        text = text.replace("[required]", "(обязательно)")
        option = next((name for name in _HELP_OF_ITS_OWN if name in names), "")
        sections.setdefault(title, []).append((names, _HELP_OF_ITS_OWN.get(option, text)))
    for title, rows in sections.items():
        with formatter.section(title):
            formatter.write_dl(rows)


@contextmanager
def completion_in_russian(arguments: Sequence[str]) -> Iterator[None]:
    """Say in Russian what typer prints when it has installed the completion."""
    if not any(argument.startswith("--install-completion") for argument in arguments):
        yield
        return
    said = StringIO()
    try:
        with redirect_stdout(said):
            yield
    finally:
        found = re.search(r"(\w+) completion installed in (.+)", said.getvalue())
        if found:
            print_answer(
                f"Дополнение команд по Tab для {found[1]} записано в {found[2]}. Оно заработает в "
                "новом окне терминала"
            )
        elif "not supported" in said.getvalue():
            print_message(
                "Ошибка: оболочка не распознана; дополнение команд есть для bash, zsh, fish и "
                "PowerShell"
            )


def in_russian(error: Any) -> str:
    """What the parser found wrong, as one sentence, or the whole help where that was asked for."""
    kind = type(error).__name__  # the parser's own classes are typer's private matter
    message: str = error.format_message()
    if kind == "NoArgsIsHelpError":
        return message
    parameter = getattr(error, "param", None)
    name = "" if parameter is None else _name(parameter)
    if kind == "NoSuchOption":
        option = str(getattr(error, "option_name", ""))
        near = getattr(error, "possibilities", None) or ()
        hint = f"; похожие: {', '.join(sorted(near))}" if near else ""
        text = f"нет параметра {option}{hint}"
    elif kind == "MissingParameter":
        text = f"не указан аргумент {name}"
    elif kind == "BadOptionUsage":
        text = f"параметр {getattr(error, 'option_name', '')}: нужно значение"
        if "does not take" in message:
            text = f"параметр {getattr(error, 'option_name', '')} не принимает значения"
    elif parameter is not None:
        text = f"{name}: {getattr(error, 'message', message)}"
    elif unknown := re.fullmatch(r"No such command '(.*?)'\..*", message):
        text = f"нет команды «{unknown[1]}»{_near_commands(error, unknown[1])}"
    elif extra := re.fullmatch(r"Got unexpected extra argument\S* \((.*)\)", message):
        text = f"лишние аргументы: {extra[1]}"
    elif message == "Missing command.":
        text = "не указана команда"
    else:
        text = message
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "stt-ru"
    return f"Ошибка: {text}. Справка: {command} --help"


def _name(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return str(parameter.metavar or parameter.name)
    return str(max(parameter.opts, key=len))


def _near_commands(error: Any, wrong: str) -> str:
    context = getattr(error, "ctx", None)
    commands = list(getattr(getattr(context, "command", None), "commands", {}))
    if near := difflib.get_close_matches(wrong, commands):
        return f"; похожие: {', '.join(near)}"
    return f"; есть: {', '.join(commands)}" if commands else ""


def number(
    least: float, most: float = math.inf, *, exclusive: bool = False
) -> Callable[[str], float]:
    """A parser for an option: a finite number from ``least`` to ``most``."""

    def parse(text: str) -> float:
        try:
            value = float(str(text).replace(",", "."))
        except ValueError:
            value = math.nan
        inside = least < value < most if exclusive else least <= value <= most
        if not inside or math.isinf(value):
            more = "больше" if exclusive else "не меньше"
            less = "меньше" if exclusive else "не больше"
            limits = f"{more} {least:g}" + (f" и {less} {most:g}" if most < math.inf else "")
            raise typer.BadParameter(f"«{text}» – не то, нужно число {limits}")
        return value

    return parse


def whole_number(least: int, most: int | None = None) -> Callable[[str], int]:
    """A parser for an option: a whole number from ``least`` to ``most``."""
    wanted = f"не меньше {least}" if most is None else f"от {least} до {most}"

    def parse(text: str) -> int:
        try:
            value = int(str(text))
        except ValueError:
            value = least - 1
        if value < least or (most is not None and value > most):
            raise typer.BadParameter(f"«{text}» – не то, нужно целое число {wanted}")
        return value

    return parse


def one_of(*choices: str) -> Callable[[str], str]:
    """A parser for an option: one of the words, in any case."""

    def parse(text: str) -> str:
        if (value := str(text).lower()) not in choices:
            raise typer.BadParameter(f"«{text}» – не то, есть: {', '.join(choices)}")
        return value

    return parse
