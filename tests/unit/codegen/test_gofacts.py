from __future__ import annotations

import pytest
from codegen.gofacts import flags_of


@pytest.mark.parametrize(
    ("name", "type_", "required", "flags"),
    [
        ("name", "string", True, "rw"),
        ("name", "string", False, ""),
        ("replicas", "int32", False, "p"),
        ("strategy", "#Strategy", False, "p"),
        ("metadata", "#io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", False, "w"),
        ("spec", "#PodSpec", False, "w"),
        ("items", ["list", "#Pod"], True, "rw"),
        ("items", ["list", "#Pod"], False, ""),
    ],
)
def test_rules_of_thumb(name, type_, required, flags):
    assert flags_of(name, type_, required=required, go={}) == flags


@pytest.mark.parametrize(
    ("type_", "required", "go", "flags"),
    [
        ("int32", False, {"value": ["x"]}, ""),
        ("#Strategy", False, {"value": ["x"]}, "w"),
        ("time", False, {"value": ["x"]}, "w"),
        ("time", False, {"value": ["x"], "omitzero": ["x"]}, "z"),
        ("string", False, {"pointer": ["x"]}, "p"),
        ("string", True, {"pointer": ["x"]}, "rwp"),
        ("string", True, {"omitted": ["x"]}, "r"),
        (["list", "string"], False, {"written": ["x"]}, "w"),
    ],
)
def test_flags_of_prefers_the_overlay(type_, required, go, flags):
    assert flags_of("x", type_, required=required, go=go) == flags
