"""Group, version and kind of bodies."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.apimachinery import envelope
from steersman.apimachinery.codec import DecodeError
from steersman.apimachinery.envelope import TypeMeta

STRUCT = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'


@pytest.mark.parametrize(
    ("tree", "group", "version", "kind"),
    [
        ({"apiVersion": "v1", "kind": "Pod"}, "", "v1", "Pod"),
        ({"apiVersion": "apps/v1", "kind": "Deployment"}, "apps", "v1", "Deployment"),
        ({}, "", "", ""),
        ({"apiVersion": None, "kind": None}, "", "", ""),
        (None, "", "", ""),
    ],
)
def test_type_meta_returns_group_version_and_kind(tree: Any, group: str, version: str, kind: str) -> None:
    meta = envelope.type_meta(tree)
    assert (meta.group, meta.version, meta.kind) == (group, version, kind)


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (
            [],
            f"couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type {STRUCT}",
        ),
        (
            "x",
            f"couldn't get version/kind; json parse error: json: cannot unmarshal string into Go value of type {STRUCT}",
        ),
        (
            {"kind": 0},
            "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind of type string",
        ),
        (
            {"apiVersion": [], "kind": "Pod"},
            "couldn't get version/kind; json parse error: json: cannot unmarshal array into Go struct field .apiVersion of type string",
        ),
        (
            {"kind": 3},
            "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind of type string",
        ),
        ({"apiVersion": "a/b/c"}, "unexpected GroupVersion string: a/b/c"),
    ],
)
def test_type_meta_raises_for_other_types(tree: Any, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        envelope.type_meta(tree)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("raw", "summary"),
    [
        (b"", "<empty>"),
        (b"hello", "68656c6c6f"),
        (b'{"kind": ', '{"kind": '),
        (b'{"apiVersion": "v1", "kind": "ConfigMap"', '{"apiVersion": "v1", "kind": " ...'),
        (b"x" * 31, "78" * 30 + " ..."),
    ],
)
def test_unrecognized_shows_the_start_of_the_body(raw: bytes, summary: str) -> None:
    error = envelope.unrecognized("ConfigMap", envelope.unreadable_json(DecodeError("why")), raw)
    assert error.code == 400
    assert error.message == (
        "the object provided is unrecognized (must be of type ConfigMap): "
        f"couldn't get version/kind; json parse error: why ({summary})"
    )


def test_cannot_be_handled_names_the_kind() -> None:
    error = envelope.cannot_be_handled(TypeMeta("apps/v1", "Deployment"), "ConfigMap", "why")
    assert error.message == 'Deployment in version "v1" cannot be handled as a ConfigMap: why'
