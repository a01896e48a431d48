from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, NOW, SELECTOR, defaulted, edited, named, pod_template

from steersman.apiserver.kinds.apps.statefulset.strategy import StatefulSetStrategy

STRATEGY = StatefulSetStrategy()
CLAIM = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}


def stateful_set(**spec: object) -> dict:
    return defaulted(STRATEGY, named(spec={"selector": SELECTOR, "template": pod_template(), **spec}))


def test_default_sets_omitted_fields():
    spec = stateful_set()["spec"]
    assert {k: v for k, v in spec.items() if k not in ("selector", "template")} == {
        "podManagementPolicy": "OrderedReady",
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
        "replicas": 1,
        "revisionHistoryLimit": 10,
    }


@pytest.mark.parametrize("strategy", [{"type": "RollingUpdate"}, {"type": "OnDelete"}])
def test_default_sets_no_partition_for_given_strategy(strategy):
    assert stateful_set(updateStrategy=dict(strategy))["spec"]["updateStrategy"] == strategy


def test_default_completes_volume_claim_templates():
    [claim] = stateful_set(volumeClaimTemplates=[edited(CLAIM, {})])["spec"]["volumeClaimTemplates"]
    assert (claim["apiVersion"], claim["kind"]) == ("v1", "PersistentVolumeClaim")
    assert (claim["spec"]["volumeMode"], claim["status"]) == ("Filesystem", {"phase": "Pending"})


def rolling(**fields: object) -> dict:
    return stateful_set(updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 0, **fields}})


def test_prepare_drops_max_unavailable_of_new_objects():
    new = rolling(maxUnavailable=2)
    STRATEGY.prepare_for_create(CONTEXT, new)
    assert new["spec"]["updateStrategy"]["rollingUpdate"] == {"partition": 0}


@pytest.mark.parametrize(("old", "expected"), [(rolling(), None), (rolling(maxUnavailable=1), 2)])
def test_prepare_keeps_max_unavailable_that_old_object_has(old, expected):
    new = rolling(maxUnavailable=2)
    STRATEGY.prepare_for_update(CONTEXT, new, old)
    assert new["spec"]["updateStrategy"]["rollingUpdate"].get("maxUnavailable") == expected


@pytest.mark.parametrize(("name", "is_fine"), [("web", True), ("web.a", False), ("a" * 64, False)])
def test_name_errors_require_dns_label(name, is_fine):
    assert (not STRATEGY.name_errors(name)) == is_fine


@pytest.mark.parametrize(("old", "place"), [(None, ""), (stateful_set(), ".Spec")])
def test_warnings_about_claim_sizes_in_fractions_of_bytes(old, place):
    claim = edited(CLAIM, {"spec.resources": {"requests": {"storage": "1500m"}}})
    [warning] = STRATEGY.warnings(CONTEXT, stateful_set(volumeClaimTemplates=[claim]), old)
    assert warning.startswith(f"spec.volumeClaimTemplates[0]{place}.resources.requests[storage]: fractional byte value")


def test_warnings_about_negative_revision_history_limit():
    assert STRATEGY.warnings(CONTEXT, stateful_set(revisionHistoryLimit=-1), None) == [
        "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"
    ]


def test_cells_show_ready_of_desired_replicas():
    row = STRATEGY.cells({**stateful_set(replicas=3), "status": {"replicas": 2, "readyReplicas": 1}}, NOW)
    assert row == ["a", "1/3", "60s", "c", "i"]
