"""Shapes know what lies below a node."""

from steersman.apiserver.kinds.apiextensions.customresourcedefinition.shape import Shape

EMBEDDED = {"type": "object", "x-kubernetes-embedded-resource": True}
NUMBER = {"type": "integer", "default": 7}


def nested(below: dict) -> dict:
    return {"type": "object", "properties": {"list": {"type": "array", "items": {"properties": {"x": below}}}}}


def test_shape_reports_nested_defaults():
    assert Shape(nested(NUMBER)).has_defaults
    assert Shape({"additionalProperties": nested(NUMBER)}).has_defaults
    assert not Shape(nested({"type": "integer"})).has_defaults
    assert not Shape(NUMBER).has_defaults


def test_shape_reports_nested_embedded_objects():
    assert Shape(EMBEDDED).has_embedded
    assert Shape(nested(EMBEDDED)).has_embedded
    assert Shape({"additionalProperties": EMBEDDED}).has_embedded
    assert not Shape(nested(NUMBER)).has_embedded


def test_shape_keeps_defaults_in_the_order_of_the_schema():
    assert Shape({"properties": {"b": NUMBER, "c": {}, "a": {"default": False}}}).defaults == [("b", 7), ("a", False)]
