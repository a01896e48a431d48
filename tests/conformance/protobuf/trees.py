"""Random objects of a schema type in their JSON form. Protobuf has no empty lists and maps."""

from __future__ import annotations

import base64
import random
from typing import Any

from steersman.apimachinery.typemodel import ListOf, MapOf, Scalar, ScalarKind, Struct, Type
from steersman.schema.loader import struct

SCHEMA = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
TEXTS = ("", "a", "web-0", "ö/😀", '"<&>"', "x" * 200)
TIMES = ("0001-01-01T00:00:01", "0999-12-31T23:59:59", "1969-12-31T23:59:59", "1970-01-01T00:00:00", "2026-02-28T12:00:00",
         "2400-02-29T00:00:00", "9999-12-31T23:59:59")  # fmt: skip
QUANTITIES = ("0", "1", "100m", "1Gi", "1500Mi", "12e6")
JSON_VALUES = (True, 0, -7, 1.5, "text", [], {}, [1, {"a": None}], {"f:metadata": {"f:labels": {".": {}}}})
#: Part of the envelope in protobuf; absent in embedded objects (volume claim templates).
OF_KIND = {"apiVersion", "kind"}


class Trees:
    """Objects from one source of randomness."""

    def __init__(self, source: random.Random) -> None:
        self._random = source

    def of(self, type_: Type, depth: int = 0) -> Any:
        """Return a value of a type; deep values have fewer fields."""
        match type_:
            case Struct():
                return self._object(type_, depth)
            case ListOf():
                return [self.of(type_.item, depth + 1) for _ in range(self._random.randint(1, 2 if depth < 4 else 1))]
            case MapOf():
                keys = self._random.sample(("b", "a", "z/y", "ä", "10", "9", ""), self._random.randint(1, 3))
                return {key: self.of(type_.value, depth + 1) for key in keys}
            case Scalar():
                return self._leaf(type_.kind, depth)

    def _object(self, type_: Struct, depth: int) -> dict[str, Any]:
        share = 0.9 if depth < 3 else 0.25 if depth < 7 else 0.0
        return {
            field.name: self.of(field.type, depth + 1)
            for field in type_.fields.values()
            if self._random.random() < share and not (self._is_of_kind(type_, field.name))
        }

    @staticmethod
    def _is_of_kind(type_: Struct, name: str) -> bool:
        return name in OF_KIND and ("metadata" in type_.fields or type_.go_name == "DeleteOptions")

    def _leaf(self, kind: ScalarKind, depth: int) -> Any:
        choice = self._random.choice
        match kind:
            case ScalarKind.STRING:
                return choice(TEXTS)
            case ScalarKind.INT32:
                return choice((0, 1, -1, 127, 128, 2**31 - 1, -(2**31)))
            case ScalarKind.INT64:
                return choice((0, 1, -1, 300, 2**63 - 1, -(2**63)))
            case ScalarKind.NUMBER:
                return choice((0, 1, -2.5, 1e300))
            case ScalarKind.BOOLEAN:
                return choice((True, False))
            case ScalarKind.BYTES:
                return base64.b64encode(choice((b"\x00", b"abc", b"\xff" * 130))).decode()
            case ScalarKind.TIME:
                return choice(TIMES) + "Z"
            case ScalarKind.MICRO_TIME:
                return choice(TIMES) + choice((".000000Z", ".000001Z", ".999999Z"))
            case ScalarKind.DURATION:
                return choice(("0s", "1.5s", "1h2m3s", "-20ms"))
            case ScalarKind.QUANTITY:
                return choice(QUANTITIES)
            case ScalarKind.INT_OR_STRING:
                return choice((0, 80, -1, "http", "25%"))
            case ScalarKind.ANY | ScalarKind.RAW:
                return choice(JSON_VALUES)
            case ScalarKind.SCHEMA_OR_BOOL:
                return choice((True, False, self._schema(depth)))
            case ScalarKind.SCHEMA_OR_ARRAY:
                return choice((self._schema(depth), [self._schema(depth)]))
            case ScalarKind.SCHEMA_OR_STRINGS:
                return choice((self._schema(depth), ["a", "b"]))

    def _schema(self, depth: int) -> Any:
        return self.of(struct(SCHEMA), depth + 1)
