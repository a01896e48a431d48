"""Unsupported formats."""

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT

from steersman.apiserver.kinds.apiextensions.customresourcedefinition.formats import unrecognized_formats
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.strategy import CustomResourceDefinitionStrategy


def definition(*schemas: dict) -> dict:
    return {"spec": {"versions": [{"name": "v", "schema": {"openAPIV3Schema": schema}} for schema in schemas]}}


def field(**schema: object) -> dict:
    return {"type": "object", "properties": {"a": schema}}


@pytest.mark.parametrize("name", ["date-time", "datetime", "uuid4", "k8s-short-name", "byte"])
def test_unrecognized_formats_omits_supported_formats(name):
    assert list(unrecognized_formats(definition(field(type="string", format=name)))) == []


def test_unrecognized_formats_finds_formats_at_any_depth():
    odd = {"type": "string", "format": "odd"}
    schemas = (
        odd,
        field(**odd),
        field(type="array", items=odd),
        field(type="object", additionalProperties=odd),
        field(type="string", anyOf=[odd]),
        {"definitions": {"a": odd}},
    )
    assert list(unrecognized_formats(definition(*schemas))) == ["odd"] * len(schemas)


@pytest.mark.parametrize(
    ("type_", "supported", "unsupported"),
    [
        ("integer", ("int32", "int64"), ("uint32", "double", "date")),
        ("number", ("float", "double"), ("int32", "odd")),
        ("boolean", (), ("odd", "date")),
        ("", ("date",), ("odd", "int32")),
    ],
)
def test_unrecognized_formats_depend_on_the_type(type_, supported, unsupported):
    schemas = [field(type=type_, format=name) if type_ else field(format=name) for name in (*supported, *unsupported)]
    assert list(unrecognized_formats(definition(*schemas))) == list(unsupported)


def test_strategy_warns_once_about_new_unsupported_format():
    strategy = CustomResourceDefinitionStrategy()
    old, new = definition(field(type="string", format="odd")), definition(field(type="string", format="strange"))
    assert strategy.warnings(CONTEXT, old, None) == ['unrecognized format "odd"']
    assert strategy.warnings(CONTEXT, old, old) == []
    assert strategy.warnings(CONTEXT, new, old) == ['unrecognized format "strange"']
