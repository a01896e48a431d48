"""The versions of one kind."""

from __future__ import annotations

import pytest

from steersman.apimachinery.managedfields.schema import Schema, UnknownVersionError


def test_schema_without_versions_has_only_that_of_the_write(widget):
    schema = Schema(widget, "e/v1", None)
    tree = {"a": 1}
    assert schema.struct_in("e/v1") is widget
    assert schema.convert(tree, source="e/v1", target="e/v1") is tree
    with pytest.raises(UnknownVersionError):
        schema.struct_in("e/v2")
    with pytest.raises(UnknownVersionError):
        schema.convert(tree, source="e/v1", target="e/v2")
