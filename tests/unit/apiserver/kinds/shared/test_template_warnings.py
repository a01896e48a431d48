from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import edited, named, pod_template

from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.shared.template_warnings import name_warnings, workload_warnings

TEMPLATE = Path("spec", "template")
#: A deprecated node label.
OLD_LABEL = {"beta.kubernetes.io/os": "linux"}
WARNED = named(spec={"template": pod_template(nodeSelector=OLD_LABEL)})
WARNING = (
    'spec.template.spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead'
)


@pytest.mark.parametrize(("name", "count"), [("a", 0), ("a-b", 0), ("a.b", 1), ("a" * 64, 1)])
def test_name_warnings_about_names_that_are_no_dns_labels(name, count):
    assert len(list(name_warnings(named(name)))) == count


def test_workload_warnings_on_create_cover_name_and_template():
    named_badly = edited(WARNED, {"metadata.name": "a.b"})
    first, second = workload_warnings(named_badly, None, TEMPLATE)
    assert first.startswith("metadata.name: this is used in Pod names and hostnames")
    assert second == WARNING


def test_workload_warnings_skip_name_when_names_are_labels():
    named_badly = edited(WARNED, {"metadata.name": "a.b"})
    assert list(workload_warnings(named_badly, None, TEMPLATE, with_name=False)) == [WARNING]


@pytest.mark.parametrize(("generation", "warnings"), [(1, []), (2, [WARNING])])
def test_workload_warnings_on_update_when_generation_changes(generation, warnings):
    old = edited(WARNED, {"metadata.generation": 1})
    new = edited(WARNED, {"metadata.generation": generation})
    assert list(workload_warnings(new, old, TEMPLATE)) == warnings
