"""The versions of one kind."""

from __future__ import annotations

import pytest

from steersman.apimachinery.managedfields.schema import Schema, UnknownVersionError


def test_without_other_versions_only_the_writes_own_is_known(widget):
    schema = Schema(widget, "e/v1", None)
    tree = {"a": 1}
    assert schema.struct_in("e/v1") is widget
    assert schema.convert(tree, source="e/v1", target="e/v1") is tree
    with pytest.raises(UnknownVersionError):
        schema.struct_in("e/v2")
    with pytest.raises(UnknownVersionError):
        schema.convert(tree, source="e/v1", target="e/v2")
