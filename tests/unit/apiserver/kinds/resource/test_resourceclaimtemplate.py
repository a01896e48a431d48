from __future__ import annotations

from tests.unit.apiserver.kinds.samples import CONTEXT, NOW, defaulted, edited, named, texts

from steersman.apiserver.kinds.resource.resourceclaimtemplate import ResourceClaimTemplateStrategy

STRATEGY = ResourceClaimTemplateStrategy()
REQUESTS = [{"name": "gpu", "exactly": {"deviceClassName": "gpus"}}]
TEMPLATE = defaulted(STRATEGY, named(spec={"spec": {"devices": {"requests": REQUESTS}}}))


def test_default_sets_defaults_of_claim_spec():
    [request] = TEMPLATE["spec"]["spec"]["devices"]["requests"]
    assert request["exactly"] == {"deviceClassName": "gpus", "allocationMode": "ExactCount", "count": 1}


def test_validate_reports_errors_under_nested_spec():
    bad = edited(TEMPLATE, {"spec.spec.devices.requests.0.exactly.deviceClassName": ""})
    assert texts(STRATEGY.validate(CONTEXT, bad)) == [
        "spec.spec.devices.requests[0].exactly.deviceClassName: Required value"
    ]


def test_validate_update_rejects_changes():
    [fault] = texts(STRATEGY.validate_update(CONTEXT, edited(TEMPLATE, {"spec.metadata": {"labels": {}}}), TEMPLATE))
    assert fault.endswith(": field is immutable")


def test_validate_update_reports_errors_of_a_new_template_before_the_change():
    faults = texts(STRATEGY.validate_update(CONTEXT, edited(TEMPLATE, {"spec.metadata": {"name": "x"}}), TEMPLATE))
    assert [fault.partition(":")[0] for fault in faults] == ["spec.metadata.name", "spec"]


def test_cells_show_age():
    assert STRATEGY.cells(TEMPLATE, NOW) == ["a", "60s"]
