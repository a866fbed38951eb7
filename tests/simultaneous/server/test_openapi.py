"""The OpenAPI document is what the server does: requests made from it get the answers it names.

schemathesis, run by hand on a live server, does more of the same: st run URL/openapi.json.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from stt_ru.simultaneous.server.corpus import Corpus
from stt_ru.simultaneous.server.openapi import openapi_document
from stt_ru.simultaneous.server.store import SessionStore
from tests.simultaneous.server.data import SETTINGS, TEXTS, speech
from tests.simultaneous.server.running import Running, running


@pytest.fixture(scope="module", params=["text", "speech"])
def server(request: pytest.FixtureRequest) -> Iterator[tuple[Running, dict[str, Any]]]:
    data = TEXTS if request.param == "text" else speech(400, 16_000, 37)
    with running(SessionStore(Corpus(data), SETTINGS, max_sessions=5)) as started:
        yield started, started.get("/openapi.json")


JUNK = st.text(max_size=8) | st.integers(-3, 5).map(str) | st.floats().map(str)
VALUES = {
    "instance_id": st.integers(0, 2).map(str) | JUNK,
    "segment_size": st.sampled_from(["10", "301", "1e3", "5e-324"]) | JUNK,
    "offset": st.integers(0, 4).map(str) | JUNK,
    "session_id": JUNK,
}
BODIES = st.sampled_from([b"", b"\xff"]) | st.text(max_size=8).map(str.encode) | st.just(b"</s>")


def agrees(value: Any, schema: dict[str, Any]) -> bool:
    """Whether JSON agrees with the part of JSON Schema that the document uses."""
    kinds = schema.get("type", "object")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    python: dict[str, type | tuple[type, ...]] = {
        "string": str, "integer": int, "number": (int, float), "boolean": bool,
        "object": dict, "array": list, "null": type(None),
    }  # fmt: skip
    if not any(isinstance(value, python[kind]) for kind in kinds):
        return False
    if isinstance(value, dict):
        named = schema.get("properties", {})
        rest = schema.get("additionalProperties", {})
        if isinstance(rest, dict) and rest:
            return all(agrees(part, rest) for part in value.values())
        return set(schema.get("required", ())) <= set(value) <= set(named) and all(
            agrees(part, named[name]) for name, part in value.items()
        )
    if isinstance(value, list):
        return all(agrees(part, schema["items"]) for part in value)
    if isinstance(value, str):
        return "enum" not in schema or value in schema["enum"]
    if isinstance(value, int | float):
        return bool(schema.get("minimum", value) <= value <= schema.get("maximum", value))
    return True


@given(st.data())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_answer_is_one_that_the_document_names(
    server: tuple[Running, dict[str, Any]], data: st.DataObject
) -> None:
    started, document = server
    path = data.draw(st.sampled_from(sorted(document["paths"])))
    method = data.draw(st.sampled_from(sorted(document["paths"][path])))
    operation = document["paths"][path][method]
    names = [parameter["name"] for parameter in operation["parameters"]]
    chosen = data.draw(st.lists(st.sampled_from(names), unique=True)) if names else []
    query = urlencode({name: data.draw(VALUES[name]) for name in chosen}, errors="replace")
    body = data.draw(BODIES) if method == "put" else None

    answer = started.ask(method.upper(), f"{quote(path)}?{query}", body)

    named = operation["responses"][str(answer.status)]
    schema = named["content"]["application/json"]["schema"]
    if "$ref" in schema:
        schema = document["components"]["schemas"]["Error"]
        assert answer.json["error"].strip()
    assert agrees(answer.json, schema), answer
    assert answer.status not in (500, 507)


@pytest.mark.parametrize("path", ["/", "/src", "/hypo", "/result", "/sessions"])
def test_the_allowed_methods_are_those_of_the_document(
    server: tuple[Running, dict[str, Any]], path: str
) -> None:
    started, document = server
    answer = started.ask("OPTIONS", path)
    allowed = set(answer.headers["allow"].split(", "))

    assert answer.status == 405
    assert allowed == {method.upper() for method in document["paths"][path]}


def test_only_speech_has_a_segment_size() -> None:
    for kind, expected in (("text", False), ("speech", True)):
        document = openapi_document(kind)  # type: ignore[arg-type]  # a plain string
        parameters = document["paths"]["/src"]["get"]["parameters"]
        assert ("segment_size" in {p["name"] for p in parameters}) == expected
        json.dumps(document)
