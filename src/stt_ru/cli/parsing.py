"""What typer does not do by itself: names of measures, an agent's options, what was given."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from stt_ru.cli.russian import RussianCommand

if TYPE_CHECKING:
    import typer

MANY_VALUED: Final = ("--quality-metrics", "--latency-metrics")

_METRIC_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(,[A-Za-z_][A-Za-z0-9_]*)*,?")


class MetricsCommand(RussianCommand):
    """A command whose metric options take several names after one flag: ``--latency-metrics A B``.

    A comma list and a repeated flag mean the same.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Repeat the flag for each of its names, then parse as usual."""
        parsed: list[str] = super().parse_args(ctx, one_name_a_flag(args))
        return parsed


class SimulCommand(MetricsCommand):
    """Leaves options that it does not know to the agent: ``ctx.meta["agent_args"]``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Set the agent's options aside, then parse as usual."""
        takes_value: dict[str, bool] = {}
        for parameter in self.get_params(ctx):
            if parameter.param_type_name != "argument":
                is_flag = bool(getattr(parameter, "is_flag", False))
                for name in (*parameter.opts, *parameter.secondary_opts):
                    takes_value[name] = not is_flag
        own, agents = set_agent_options_aside(args, takes_value)
        ctx.meta["agent_args"] = agents
        return super().parse_args(ctx, own)


def one_name_a_flag(args: Sequence[str]) -> list[str]:
    """``--latency-metrics A B,C`` as ``--latency-metrics A --latency-metrics B …``.

    Words after the flag are names while they look like ones; a file has a dot or a slash.

    Example:
        >>> one_name_a_flag(["--latency-metrics", "AL", "LAAL,AP", "eval.csv"])
        ['--latency-metrics', 'AL', '--latency-metrics', 'LAAL,AP', 'eval.csv']
    """
    rewritten: list[str] = []
    flag = ""
    for arg in args:
        if arg.startswith("-"):
            flag = arg if arg in MANY_VALUED else ""
            rewritten.append(arg)
        elif flag and rewritten[-1] == flag:
            rewritten.append(arg)
        elif flag and _METRIC_NAME.fullmatch(arg):
            rewritten += [flag, arg]
        else:
            flag = ""
            rewritten.append(arg)
    return rewritten


def set_agent_options_aside(
    args: Sequence[str], takes_value: dict[str, bool]
) -> tuple[list[str], list[str]]:
    """The command's own arguments, and those that only the agent can know, with their values.

    Args:
        args: Of the command line.
        takes_value: Names of the command's own options, and whether a value follows.

    Example:
        >>> set_agent_options_aside(
        ...     ["a.csv", "--waitk", "3", "--agent", "x.py"], {"--agent": True}
        ... )
        (['a.csv', '--agent', 'x.py'], ['--waitk', '3'])
    """
    own: list[str] = []
    agents: list[str] = []
    target = own
    is_value = False
    for arg in args:
        if is_value:
            own.append(arg)
            is_value = False
        elif arg.startswith("-") and not re.fullmatch(r"-\d+(\.\d+)?", arg):
            name, equals, _ = arg.partition("=")
            target = own if name in takes_value else agents
            target.append(arg)
            is_value = takes_value.get(name, False) and not equals
        else:
            target.append(arg)
    return own, agents


def given_parameters(ctx: typer.Context) -> frozenset[str]:
    """Names of the parameters that the user gave, be it with the value they have by default."""
    given = set()
    for name in ctx.params:
        source = ctx.get_parameter_source(name)
        # Known by its name: typer's parser, whose enumeration it is, is typer's private matter.
        if source is not None and source.name not in ("DEFAULT", "DEFAULT_MAP"):
            given.add(name)
    return frozenset(given)


def split_names(values: Sequence[str] | None, default: Sequence[str]) -> tuple[str, ...]:
    """Names of measures from repeated flags and comma lists; the default when none was given."""
    if not values:
        return tuple(default)
    return tuple(name for value in values for name in value.split(",") if name)
