"""Resolution of field paths through a schema."""

import pytest

from steersman.apiserver.kinds.apiextensions.customresourcedefinition.field_paths import FieldPathError, follow

COLOUR = {"type": "string"}
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {"type": "object", "properties": {"colour": COLOUR, "a.b": COLOUR}},
        "labels": {"type": "object", "additionalProperties": COLOUR},
        "free": {"type": "object", "additionalProperties": True},
        "text": {"type": "string"},
    },
}


@pytest.mark.parametrize(
    ("path", "plain", "root"),
    [
        (".spec.colour", "spec.colour", "spec"),
        (".spec['colour']", "spec.colour", "spec"),
        (".spec['a.b']", "spec.a.b", "spec"),
        (".labels['a']", "labels[a]", "labels"),
        (".labels['a\\'b']", "labels[a'b]", "labels"),
    ],
)
def test_follow_resolves_path_to_field(path, plain, root):
    assert follow(path, SCHEMA) == (plain, root, COLOUR)


def test_follow_resolves_fields_below_preserved_unknown_fields():
    assert follow(".free.a", SCHEMA) == ("free[a]", "free", {})


@pytest.mark.parametrize(
    ("path", "fault"),
    [
        ("spec", "expected [ or . but got: spec"),
        (".spec.", "unexpected end of JSON path"),
        (".spec.size", "does not refer to a valid field"),
        (".text.a", "does not refer to a valid field"),
        (".spec[colour]", "expected single quoted string but got colour"),
        (".spec['colour'.", "expected ] but got ."),
        (".spec['\\x']", "invalid string literal: invalid syntax"),
        (".spec[", "unexpected end of JSON path"),
    ],
)
def test_follow_raises_for_path_without_field(path, fault):
    with pytest.raises(FieldPathError) as raised:
        follow(path, SCHEMA)
    assert str(raised.value) == fault


def test_follow_raises_for_brackets_when_not_allowed():
    with pytest.raises(FieldPathError, match="array notation is not allowed"):
        follow(".spec['colour']", SCHEMA, allow_brackets=False)
