from __future__ import annotations

from inspect import signature
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from stt_ru.cli import evaluate, stream
from stt_ru.cli.parsing import given_parameters

app = typer.Typer()


@app.command()
def command(
    ctx: typer.Context,
    file: Annotated[str | None, typer.Argument()] = None,
    count: Annotated[int, typer.Option("-c", "--count")] = 1,
    names: Annotated[list[str] | None, typer.Option("--names")] = None,
    fast: Annotated[bool | None, typer.Option("--fast/--slow")] = None,
    word: Annotated[str, typer.Option("--word", parser=str.lower)] = "да",
) -> None:
    typer.echo(" ".join(sorted(given_parameters(ctx))))


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        ("", ""),
        ("--count 1", "count"),
        ("-c1 --word да", "count word"),
        ("a.csv --slow --names x", "fast file names"),
    ],
)
def test_what_is_given_with_its_default_is_given(arguments: str, given: str) -> None:
    assert CliRunner().invoke(app, arguments.split()).output.split() == given.split()


def test_what_streaming_models_do_not_heed_are_parameters() -> None:
    for module, function in ((evaluate, evaluate.evaluate), (stream, stream.stream)):
        assert set(module._NOT_FOR_STREAMING) < set(signature(function).parameters)
