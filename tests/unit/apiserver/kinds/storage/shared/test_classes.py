from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import texts

from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.storage.shared.classes import check_parameters, check_provisioner

HERE = Path("p")


@pytest.mark.parametrize("name", ["kubernetes.io/no-provisioner", "EBS.csi.aws.com", "local"])
def test_check_provisioner_accepts_any_case(name):
    assert texts(check_provisioner(name, HERE)) == []


def test_check_provisioner_requires_name():
    assert texts(check_provisioner("", HERE)) == ["p: Required value"]


def test_check_provisioner_requires_qualified_name():
    [fault] = texts(check_provisioner("A/b/c", HERE))
    assert fault.startswith('p: Invalid value: "a/b/c": a valid label key must consist of alphanumeric characters')


@pytest.mark.parametrize(
    ("parameters", "faults"),
    [
        ({"a": "b"}, []),
        ({"": "b"}, ['p: Invalid value: "": field can not be empty.']),
        ({str(n): "" for n in range(513)}, ["p: Too long: may not be more than 512 bytes"]),
        ({"a": "b" * 256 * 1024}, ["p: Too long: may not be more than 262144 bytes"]),
    ],
)
def test_check_parameters_limits_number_and_size(parameters, faults):
    assert texts(check_parameters(parameters, HERE, may_be_empty=False)) == faults


@pytest.mark.parametrize(
    ("may_be_empty", "faults"), [(True, []), (False, ["p: Required value: must contain at least one key/value pair"])]
)
def test_check_parameters_requires_parameters_unless_may_be_empty(may_be_empty, faults):
    assert texts(check_parameters(None, HERE, may_be_empty=may_be_empty)) == faults
