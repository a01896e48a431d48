from __future__ import annotations

import pytest

from steersman.apimachinery.json_values import NumberText
from steersman.apimachinery.typemodel import ScalarKind
from steersman.schema.leaves import LEAVES, PLAIN, ZEROS, Malformed, Mismatch


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (ScalarKind.STRING, 1),
        (ScalarKind.BOOLEAN, 1),
        (ScalarKind.BOOLEAN, "true"),
        (ScalarKind.INT32, True),
        (ScalarKind.INT64, 2**63),
        (ScalarKind.INT64, -(2**63) - 1),
        (ScalarKind.NUMBER, "1"),
        (ScalarKind.BYTES, {}),
        (ScalarKind.BYTES, [256]),
        (ScalarKind.TIME, 1),
        (ScalarKind.MICRO_TIME, []),
        (ScalarKind.INT_OR_STRING, 1.5),
    ],
)
def test_leaf_raises_mismatch_for_another_json_type(kind, value):
    with pytest.raises(Mismatch):
        LEAVES[kind](value)


@pytest.mark.parametrize(
    ("kind", "value", "retained"),
    [
        (ScalarKind.INT64, -(2**63), -(2**63)),
        (ScalarKind.NUMBER, 2.0, 2),
        (ScalarKind.NUMBER, 2.5, 2.5),
        (ScalarKind.BYTES, "YQ==", "YQ=="),
        (ScalarKind.BYTES, [97, 98], "YWI="),
        (ScalarKind.TIME, "2024-01-01T00:00:00+01:00", "2023-12-31T23:00:00Z"),
        (ScalarKind.INT_OR_STRING, "50%", "50%"),
        (ScalarKind.QUANTITY, "1024Mi", "1Gi"),
        (ScalarKind.QUANTITY, 0.5, "500m"),
        (ScalarKind.QUANTITY, 1000000, "1M"),
        (ScalarKind.QUANTITY, NumberText("1e3"), "1e3"),
        (ScalarKind.RAW, {"a": None}, {"a": None}),
    ],
)
def test_leaf_returns_the_canonical_value(kind, value, retained):
    assert LEAVES[kind](value) == retained


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (ScalarKind.BYTES, "!"),
        (ScalarKind.TIME, "x"),
        (ScalarKind.MICRO_TIME, "x"),
        (ScalarKind.QUANTITY, "1 Gi"),
        (ScalarKind.QUANTITY, True),
        (ScalarKind.QUANTITY, {}),
    ],
)
def test_leaf_raises_malformed_when_its_parser_rejects(kind, value):
    with pytest.raises(Malformed):
        LEAVES[kind](value)


def test_leaf_kinds_have_zero_values():
    assert set(ZEROS) == set(ScalarKind)
    assert all(LEAVES[kind](type_()) == type_() for kind, type_ in PLAIN.items())
