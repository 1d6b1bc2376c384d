"""The tools that the project's own benchmarks use: a one-field tool call and an order of some 5 KB."""

import json
from typing import Any

WEATHER: dict[str, Any] = {
    "type": "object",
    "properties": {"location": {"type": "string"}, "days": {"type": "integer", "minimum": 1, "maximum": 14}},
    "required": ["location"],
    "additionalProperties": False,
}
FORECAST: dict[str, Any] = {
    "type": "object",
    "properties": {"location": {"type": "string"}, "temperature": {"type": "number"}, "conditions": {"type": "string"}},
    "required": ["location", "temperature", "conditions"],
}
ADDRESS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "street": {"type": "string", "minLength": 1},
        "city": {"type": "string", "minLength": 1},
        "country": {"enum": ["GB", "US", "JP", "DE", "FR"]},
    },
    "required": ["street", "city", "country"],
    "additionalProperties": False,
}
LINE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "sku": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]+$"},
        "title": {"type": "string", "maxLength": 200},
        "quantity": {"type": "integer", "minimum": 1},
        "price": {"type": "number", "minimum": 0},
        "gift": {"type": "boolean"},
    },
    "required": ["sku", "title", "quantity", "price"],
    "additionalProperties": False,
}
ORDER: dict[str, Any] = {
    "$defs": {"address": ADDRESS},
    "type": "object",
    "properties": {
        "id": {"type": "string", "format": "uuid"},
        "placed": {"type": "string", "format": "date-time"},
        "billing": {"$ref": "#/$defs/address"},
        "shipping": {"anyOf": [{"$ref": "#/$defs/address"}, {"type": "null"}]},
        "lines": {"type": "array", "items": LINE, "minItems": 1},
        "note": {"type": ["string", "null"]},
    },
    "required": ["id", "placed", "billing", "lines"],
    "additionalProperties": False,
}

WEATHER_ARGUMENTS: dict[str, Any] = {"location": "Tokyo", "days": 3}
ORDER_ARGUMENTS: dict[str, Any] = {
    "id": "123e4567-e89b-42d3-a456-426614174000",
    "placed": "2026-11-30T09:30:00Z",
    "billing": {"street": "1 High Street", "city": "Leeds", "country": "GB"},
    "shipping": None,
    "lines": [
        {
            "sku": f"AB-{n}",
            "title": f"Item number {n}, in a box",
            "quantity": n + 1,
            "price": n * 1.25,
            "gift": n % 2 == 0,
        }
        for n in range(50)
    ],
    "note": "leave it with the neighbour",
}

VALID = {"weather": (WEATHER, WEATHER_ARGUMENTS), "order": (ORDER, ORDER_ARGUMENTS)}
INVALID = {
    "weather": (WEATHER, {"location": "Tokyo", "days": "3"}),
    "order": (ORDER, {**ORDER_ARGUMENTS, "lines": [*ORDER_ARGUMENTS["lines"], {"sku": "ab", "title": "x"}]}),
}


def text(value: Any) -> bytes:
    """Compact JSON, as models send it."""
    return json.dumps(value, separators=(",", ":")).encode()
