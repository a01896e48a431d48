"""Declarations of Go types have the fields of the API."""

from __future__ import annotations

import msgspec
import pytest
from lightkube.models import core_v1, meta_v1

from steersman.workloads.go_dump import _fields
from steersman.workloads.go_layout import LAYOUT


def model(name):
    short = name.removeprefix("v1.")
    return getattr(core_v1, short, None) or getattr(meta_v1, short, None)


def json_names(name):
    """Return JSON names, those of embedded structs included."""
    result = set()
    for _, json_name, field_type in _fields(name):
        result |= {json_name} if json_name else json_names(field_type)
    return result


EMBEDDED = {"v1.VolumeSource", "v1.ProbeHandler"}


@pytest.mark.parametrize("name", [name for name in LAYOUT if name not in EMBEDDED])
def test_layout_has_the_fields_of_the_api(name):
    fields = {field.encode_name for field in msgspec.structs.fields(model(name))}
    assert json_names(name) == fields


def test_layout_declares_each_referenced_struct():
    """A value of an undeclared type would be printed as text."""
    named = {kind.replace("*", "").replace("[]", "") for name in LAYOUT for _, _, kind in _fields(name)}
    structs = {name for name in named if name.startswith("v1.") and model(name) is not None}
    # Templates may not have these, and times are all zero.
    assert structs - set(LAYOUT) == {"v1.EphemeralContainer", "v1.ManagedFieldsEntry", "v1.Time"}
