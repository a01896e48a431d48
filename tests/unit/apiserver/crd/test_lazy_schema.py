"""Schemas are loaded with their first use, once."""

from steersman.apiserver.crd.lazy_schema import LazySchema

SCHEMA = {"type": "object", "properties": {"size": {"type": "integer", "default": 1}}}


class Stored:
    """Stored schema that counts how often it is loaded."""

    def __init__(self) -> None:
        self.loads = 0

    def load(self) -> dict:
        self.loads += 1
        return SCHEMA


def test_schema_is_loaded_with_its_first_use_and_kept():
    stored = Stored()
    schema = LazySchema(stored.load, "Shirt")
    assert not stored.loads
    assert schema.shape.defaults == [("size", 1)]
    assert schema.struct.fields["size"].default == 1
    assert schema.acceptor.accepts({"size": 1})
    assert not schema.acceptor.accepts({"size": "large"})
    assert schema.rules.validate({}, None, faults=[], warn=str) == []
    assert schema.shape is schema.shape
    assert schema.load_struct() is schema.struct
    assert stored.loads == 1


def test_load_returns_the_schema_without_keeping_it():
    stored = Stored()
    schema = LazySchema(stored.load, "Shirt")
    assert schema.load() == schema.load() == SCHEMA
    assert stored.loads == 2
