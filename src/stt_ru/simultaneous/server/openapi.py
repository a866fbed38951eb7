"""The OpenAPI document of the protocol: what `app` does, for people and for tools."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stt_ru.simultaneous.core.segments import DataType

_WHOLE = {"type": "integer", "minimum": 0, "maximum": 10**17}
_TEXT = {"type": "string"}
_NUMBER_OR_NULL = {"type": ["number", "null"]}
_DATA_TYPE = {"type": "string", "enum": ["text", "speech"]}


def _object(properties: dict[str, Any], *optional: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
    }


def _figures(of: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": of}


def _query(name: str, schema: dict[str, Any], description: str, *, required: bool = False) -> Any:
    return {
        "name": name,
        "in": "query",
        "required": required,
        "description": description,
        "schema": schema,
    }


_SESSION = _query("session_id", _TEXT, "Сессия; без него – самая новая.")
_INSTANCE = _query("instance_id", _WHOLE, "Номер примера, от 0.", required=True)


def _json(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _operation(
    summary: str,
    answer: dict[str, Any],
    errors: tuple[int, ...],
    parameters: tuple[Any, ...] = (),
    **more: Any,
) -> dict[str, Any]:
    reasons = {
        400: "Неверный параметр или тело",
        401: "Нет токена",
        404: "Нет такого примера или сессии",
        409: "Запрос не вовремя: гипотеза закончена или offset впереди прочитанного",
        413: "Тело слишком велико",
        429: "Слишком много сессий",
        500: "Ошибка сервера",
        507: "Результат не записан на диск",
    }
    error = {"$ref": "#/components/schemas/Error"}
    return {
        "summary": summary,
        "parameters": list(parameters),
        **more,
        "responses": {
            "200": _json("Сделано", answer),
            **{str(code): _json(reasons[code], error) for code in (*errors, 401, 500)},
        },
    }


def openapi_document(data_type: DataType) -> dict[str, Any]:
    """The document of a server of texts or of speech, as `/openapi.json` answers it."""
    about = {"num_sentences": _WHOLE, "data_type": _DATA_TYPE}
    word = _object({"instance_id": _WHOLE, "segment_id": _WHOLE, "segment": _TEXT})
    samples = _object(
        {
            "instance_id": _WHOLE,
            "segment_id": _WHOLE,
            "segment": {
                "type": "array",
                "items": {"type": "integer", "minimum": -32768, "maximum": 32767},
            },
            "sample_rate": {"type": "integer"},
            "dtype": {"type": "string", "enum": ["int16"]},
            "finished": {"type": "boolean"},
        }
    )
    segment_size = _query(
        "segment_size",
        {"type": "number", "exclusiveMinimum": 0},
        "Миллисекунды звука, округляются до 10; по умолчанию 10.",
    )
    is_speech = data_type == "speech"
    scores = {
        "Quality": _figures(_NUMBER_OR_NULL),
        "Latency": _figures(_NUMBER_OR_NULL),
        "units": _figures({"type": "string", "enum": ["", "ms", "rate", "words"]}),
        "scored": _figures(_WHOLE),
        "skipped": {"type": "array", "items": _TEXT},
        "errors": _figures(_TEXT),
        "finished": {"type": ["integer", "boolean"]},
        "session_id": _TEXT,
        "total": _WHOLE,
        "instance_id": _WHOLE,
        "prediction": _TEXT,
        "delays": {"type": "array", "items": {"type": "number"}},
        "elapsed": {"type": "array", "items": {"type": "number"}},
        "source_length": _NUMBER_OR_NULL,
    }
    summary = {
        "session_id": _TEXT,
        "created_at": {"type": "number"},
        "idle_seconds": {"type": "number"},
        "finished": _WHOLE,
        "begun": _WHOLE,
        "total": _WHOLE,
        "wer": _NUMBER_OR_NULL,
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "stt-ru serve",
            "version": version("stt-ru"),
            "description": "Оценка систем, которые пишут, пока ещё читают: качество и задержка.",
        },
        "paths": {
            "/": {
                "get": _operation("Сколько примеров и каких", _object(about), (400,)),
                "post": _operation(
                    "Начать новую сессию",
                    _object({"session_id": _TEXT, **about}),
                    (400, 429, 507),
                ),
            },
            "/src": {
                "get": _operation(
                    "Прочитать следующий кусок источника",
                    samples if is_speech else word,
                    (400, 404, 409, 429, 507),
                    (
                        _INSTANCE,
                        _SESSION,
                        *([segment_size] if is_speech else []),
                        _query(
                            "offset",
                            _WHOLE,
                            "Читать с этого слова или миллисекунды ещё раз; не дальше "
                            "прочитанного.",
                        ),
                    ),
                )
            },
            "/hypo": {
                "put": _operation(
                    "Записать слова гипотезы; </s> заканчивает её",
                    _object(
                        {
                            "instance_id": _WHOLE,
                            "words": _WHOLE,
                            "prediction_length": _WHOLE,
                            "finished": {"type": "boolean"},
                        }
                    ),
                    (400, 404, 409, 413, 429, 507),
                    (_INSTANCE, _SESSION),
                    requestBody={
                        "required": True,
                        "content": {"text/plain": {"schema": {"type": "string", "minLength": 1}}},
                    },
                )
            },
            "/result": {
                "get": _operation(
                    "Показатели законченных примеров или одного",
                    _object(
                        scores,
                        "total",
                        "instance_id",
                        "prediction",
                        "delays",
                        "elapsed",
                        "source_length",
                    ),
                    (400, 404, 429, 507),
                    (
                        _SESSION,
                        _query("instance_id", _WHOLE, "Только этот пример."),
                    ),
                )
            },
            "/sessions": {
                "get": _operation(
                    "Сессии, новые первыми",
                    _object({**about, "sessions": {"type": "array", "items": _object(summary)}}),
                    (400,),
                )
            },
        },
        "components": {
            "schemas": {"Error": _object({"error": _TEXT})},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }
