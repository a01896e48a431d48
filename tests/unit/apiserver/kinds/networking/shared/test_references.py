from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import texts

from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.networking.shared.references import require_path_segment, validate_local_reference


@pytest.mark.parametrize(
    ("reference", "faults"),
    [
        ({"kind": "Bucket", "name": "b"}, []),
        ({"apiGroup": "example.com", "kind": "Bucket", "name": "b"}, []),
        ({}, ["r.kind: Required value", "r.name: Required value"]),
        ({"kind": "a%b", "name": "b"}, ["r.kind: Invalid value: \"a%b\": may not contain '%'"]),
    ],
)
def test_validate_local_reference_requires_kind_and_name(reference, faults):
    assert texts(validate_local_reference(reference, Path("r"))) == faults


def test_validate_local_reference_requires_dns_subdomain_as_group():
    [fault] = texts(validate_local_reference({"apiGroup": "A", "kind": "k", "name": "n"}, Path("r")))
    assert fault.startswith('r.apiGroup: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of')


@pytest.mark.parametrize(
    ("value", "faults"), [("a", []), ("", ["p: Required value"]), (".", ["p: Invalid value: \".\": may not be '.'"])]
)
def test_require_path_segment_rejects_invalid_names(value, faults):
    assert texts(require_path_segment(value, Path("p"))) == faults
