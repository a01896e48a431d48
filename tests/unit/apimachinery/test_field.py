"""Paths and field errors, as the causes of a 422 show them."""

from __future__ import annotations

import pytest

from steersman.apimachinery import field
from steersman.apimachinery.field import ErrorType, FieldError, Path


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (Path("spec"), "spec"),
        (Path("spec", "template", "spec"), "spec.template.spec"),
        (Path("spec").child("containers").index(0).child("name"), "spec.containers[0].name"),
        (Path("metadata").child("labels").key("a/b"), "metadata.labels[a/b]"),
        (Path("a").child("b", "c").key("x").index(3), "a.b.c[x][3]"),
        (Path(""), "[]"),
    ],
)
def test_path_text(path: Path, text: str) -> None:
    assert str(path) == text


def test_path_child_does_not_change_its_parent() -> None:
    parent = Path("spec")
    parent.child("a")
    parent.index(1)
    assert str(parent) == "spec"


def test_paths_with_equal_text_are_equal() -> None:
    assert Path("a", "b") == Path("a").child("b")
    assert len({Path("a", "b"), Path("a").child("b")}) == 1


P = Path("f")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (field.required(P), "f: Required value"),
        (field.required(P, "name or generateName is required"), "f: Required value: name or generateName is required"),
        (field.invalid(P, "x", "why"), 'f: Invalid value: "x": why'),
        (field.invalid(P, 'a"\n', "why"), 'f: Invalid value: "a\\"\\n": why'),
        (field.invalid(P, 0, "must be greater than 0"), "f: Invalid value: 0: must be greater than 0"),
        (field.invalid(P, 1.5, "why"), "f: Invalid value: 1.5: why"),
        (field.invalid(P, 2.0, "why"), "f: Invalid value: 2: why"),
        (field.invalid(P, True, "why"), "f: Invalid value: true: why"),
        (field.invalid(P, None, "why"), "f: Invalid value: null: why"),
        (field.invalid(P, {"b": [1, "<"]}, "why"), 'f: Invalid value: {"b":[1,"\\u003c"]}: why'),
        (field.duplicate(P, "a"), 'f: Duplicate value: "a"'),
        (field.forbidden(P, "cannot be set on create"), "f: Forbidden: cannot be set on create"),
        (field.not_found(P, "data"), 'f: Not found: "data"'),
        (field.not_supported(P, "x", ["A", "B"]), 'f: Unsupported value: "x": supported values: "A", "B"'),
        (field.not_supported(P, "x"), 'f: Unsupported value: "x"'),
        (field.too_long(P, max_bytes=63), "f: Too long: may not be more than 63 bytes"),
        (field.too_long(P, max_bytes=1), "f: Too long: may not be more than 1 byte"),
        (field.too_long(P, max_bytes=-1), "f: Too long: value is too long"),
        (field.too_many(P, 12, max_items=10), "f: Too many: 12: must have at most 10 items"),
        (field.too_many(P, 2, max_items=1), "f: Too many: 2: must have at most 1 item"),
        (field.too_many(P, -1, max_items=-1), "f: Too many: has too many items"),
        (field.type_invalid(P, "x", "must be an integer"), 'f: Invalid value: "x": must be an integer'),
        (field.internal(P, "broken"), "f: Internal error: broken"),
    ],
)
def test_error_text(error: FieldError, text: str) -> None:
    assert str(error) == text


def test_cause_has_reason_message_and_field() -> None:
    assert field.invalid(Path("spec", "x"), 3, "why").cause() == {
        "reason": "FieldValueInvalid",
        "message": "Invalid value: 3: why",
        "field": "spec.x",
    }


def test_errors_with_equal_text_and_type_are_equal() -> None:
    assert field.required("a") == FieldError(ErrorType.REQUIRED, Path("a"))
    assert len({field.required("a"), field.required("a"), field.required("b")}) == 2


@pytest.mark.parametrize(("messages", "text"), [([], ""), (["a"], "a"), (["a", "a"], "a"), (["a", "b", "a"], "[a, b]")])
def test_join_messages_drops_duplicates(messages: list[str], text: str) -> None:
    assert field.join_messages(messages) == text
