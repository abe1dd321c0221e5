"""What OpenAPI says of the routes: bodies, answers, parameters and scopes.

Bodies are read by :mod:`tallybayes.serve.bodies`; a model class for each row would take longer than
its prediction. So their schemas are stated here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tallybayes.serve.bodies import ARROW, JSON, LINES
from tallybayes.serve.tokens import SCOPES

__all__ = ["described", "operation"]

Schema = dict[str, Any]

VALUE: Schema = {
    "anyOf": [{"type": "number"}, {"type": "string"}, {"type": "boolean"}, {"type": "null"}]
}
LABEL: Schema = {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}]}
ROW: Schema = {
    "type": "object",
    "description": "Values by column; a column that is lacking, or null, is a missing value.",
    "additionalProperties": VALUE,
}
NATS: Schema = {
    "type": "object",
    "description": "By class, in nats; null is minus infinity.",
    "additionalProperties": {"type": ["number", "null"]},
}
SHARES: Schema = {"type": "object", "additionalProperties": {"type": "number"}}
NAME: Schema = {"type": "string", "minLength": 1}


def _list(items: Schema, **rules: Any) -> Schema:
    return {"type": "array", "items": items, **rules}


def _object(properties: dict[str, Schema], required: Sequence[str] = (), **rules: Any) -> Schema:
    found: Schema = {"type": "object", "properties": properties, **rules}
    return {**found, "required": list(required)} if required else found


ROWS, LABELS, IDS = _list(ROW, minItems=1), _list(LABEL, minItems=1), _list(NAME, minItems=1)
WEIGHTS = _list({"type": "number", "minimum": 0})
TIMES = _list({"type": "number", "minimum": 0, "description": "Seconds since 1970."})
MODEL = _object({"name": {"type": "string"}, "version": {"type": "string"}})
TENSOR = _object(
    {
        "name": {"type": "string"},
        "shape": _list({"type": "integer", "minimum": 0}),
        "datatype": {"type": "string"},
        "data": {"type": "array", "items": {}},
        "parameters": {"type": "object"},
    },
    ["name", "shape", "datatype", "data"],
)
SCHEMAS: dict[str, Schema] = {
    "rows": _object({"rows": ROWS}, ["rows"], additionalProperties=False),
    "labelled": _object(
        {"rows": ROWS, "labels": LABELS, "weights": WEIGHTS},
        ["rows", "labels"],
        additionalProperties=False,
    ),
    "learn": _object(
        {
            "rows": ROWS,
            "labels": LABELS,
            "ids": IDS,
            "subjects": IDS,
            "weights": WEIGHTS,
            "times": TIMES,
        },
        ["rows", "labels"],
        additionalProperties=False,
    ),
    "forget": _object({"ids": IDS, "subjects": IDS, "rows": ROWS}, additionalProperties=False),
    "relabel": _object(
        {"ids": IDS, "labels": LABELS, "rows": ROWS},
        ["ids", "labels"],
        additionalProperties=False,
    ),
    "inference": _object(
        {
            "id": {"type": "string"},
            "inputs": _list(TENSOR, minItems=1),
            "outputs": _list(_object({"name": {"type": "string"}}, ["name"])),
            "parameters": {"type": "object"},
        },
        ["inputs"],
    ),
}
"""Of bodies."""

ANSWERS: dict[str, dict[str, Schema]] = {
    "object": {JSON: {"type": "object"}},
    "text": {"text/plain": {"type": "string"}},
    "html": {"text/html": {"type": "string"}},
    "predictions": {
        JSON: _object(
            {
                "model": MODEL,
                "predictions": _list(_object({"label": LABEL, "probabilities": SHARES}, ["label"])),
            },
            ["model", "predictions"],
        ),
        LINES: {},
        ARROW: {},
    },
    "explanations": {
        JSON: _object(
            {
                "model": MODEL,
                "explanations": _list(
                    _object(
                        {"label": LABEL, "probabilities": NATS, "prior": NATS},
                        ["label", "probabilities", "prior"],
                    )
                ),
            },
            ["model", "explanations"],
        ),
        LINES: {},
    },
    "inference": {
        JSON: _object(
            {
                "model_name": {"type": "string"},
                "model_version": {"type": "string"},
                "id": {"type": "string"},
                "outputs": _list(TENSOR),
            },
            ["model_name", "outputs"],
        )
    },
}
"""Of answers, by type."""

PARAMETERS: dict[str, Schema] = {
    "name": {"in": "path", "required": True, "schema": NAME, "description": "Of the model."},
    "version": {"in": "path", "required": True, "schema": NAME, "description": "Of the model."},
    "unknown": {
        "in": "query",
        "schema": {"enum": ["refuse", "ignore"], "default": "refuse"},
        "description": "What becomes of columns that the model does not have.",
    },
    "probabilities": {
        "in": "query",
        "schema": {"type": "boolean", "default": True},
        "description": "Whether they are answered beside the labels.",
    },
    "lang": {
        "in": "query",
        "schema": {"enum": ["en", "zh"], "default": "en"},
        "description": "The language of the page.",
    },
    "Idempotency-Key": {
        "in": "header",
        "schema": {"type": "string", "minLength": 1, "maxLength": 255},
        "description": "Names the rows of a body without ids: KEY/0, KEY/1, … A key belongs to one "
        "body: with another one it is refused.",
    },
}


def operation(
    scope: str | None,
    *,
    body: str | None = None,
    answer: str = "object",
    query: Sequence[str] = (),
) -> dict[str, Any]:
    """Describe a route.

    Parameters
    ----------
    scope : str or None
        Which a token needs.
    body, answer : str
        Of :data:`SCHEMAS` and :data:`ANSWERS`.
    query : sequence of str
        Of :data:`PARAMETERS`.

    Returns
    -------
    dict
        What FastAPI's document takes over.
    """
    error = {"$ref": "#/components/schemas/Error"}
    found: dict[str, Any] = {
        "responses": {
            "200": {
                "description": "The answer.",
                "content": {kind: {"schema": s} for kind, s in ANSWERS[answer].items()},
            },
            "default": {
                "description": "An error: the rule, what arrived, and what to do.",
                "content": {JSON: {"schema": error}},
            },
        },
        "security": [] if scope is None else [{"token": [scope] if scope else []}],
    }
    if query:
        found["parameters"] = [{"name": name, **PARAMETERS[name]} for name in query]
    if body is not None:
        kinds = {JSON: {"schema": SCHEMAS[body]}}
        if body != "inference":
            kinds |= {LINES: {"schema": {"type": "string"}}, ARROW: {"schema": {}}}
        found["requestBody"] = {"required": True, "content": kinds}
    return found


def described(app: Any) -> dict[str, Any]:
    """Write the document of an application.

    Parameters
    ----------
    app : FastAPI
        With its routes.

    Returns
    -------
    dict
        OpenAPI 3.1.
    """
    document: dict[str, Any] = app.openapi()
    parts = document.setdefault("components", {})
    parts.setdefault("schemas", {})["Error"] = _object({"error": {"type": "string"}}, ["error"])
    parts["securitySchemes"] = {
        "token": {
            "type": "http",
            "scheme": "bearer",
            "description": f"A token with the scope that a path names, of {', '.join(SCOPES)}.",
        }
    }
    return document
