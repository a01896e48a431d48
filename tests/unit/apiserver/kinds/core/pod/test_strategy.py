"""Strategy of Pods."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.apiserver.kinds.objects import STAMP, context, copy, defaulted, error_texts, is_idempotent, pod, tree

from steersman.apiserver.kinds.core.pod.strategy import PodStrategy, gated_condition

KIND = PodStrategy()
ips = st.sampled_from([None, "10.0.0.1", "fd00::1"])


@given(ips, st.lists(ips.filter(bool), max_size=2))
def test_default_is_idempotent(one: str | None, many: list[str]):
    status = {"podIP": one, "podIPs": [{"ip": ip} for ip in many]}
    assert is_idempotent(KIND, {**pod(), "status": status})


@pytest.mark.parametrize(
    ("fields", "one", "many"),
    [
        ({"podIP": "a"}, "a", ["a"]),
        ({"podIPs": [{"ip": "a"}, {"ip": "b"}]}, "a", ["a", "b"]),
        ({"podIP": "c", "podIPs": [{"ip": "a"}]}, "c", ["c"]),
    ],
)
def test_prepare_prefers_pod_ip_over_pod_ips(fields: dict, one: str, many: list[str]):
    status = defaulted(KIND, {**pod(), "status": fields})["status"]
    assert (status["podIP"], [ip["ip"] for ip in status["podIPs"]]) == (one, many)


# -- create -----------------------------------------------------------------------------------------------------------------


def created(metadata: dict | None = None, **spec: object) -> dict:
    obj = {**pod(metadata, **spec), "status": {"phase": "Running"}}
    KIND.prepare_for_create(context(), obj)
    return obj


def test_prepare_for_create_sets_phase_and_qos_class():
    assert created()["status"] == {"phase": "Pending", "qosClass": "BestEffort"}


def test_prepare_for_create_sets_condition_of_gated_pod():
    assert created(schedulingGates=[{"name": "g"}])["status"]["conditions"] == [gated_condition(STAMP)]
    assert gated_condition(STAMP)["reason"] == "SchedulingGated"


@pytest.mark.parametrize(("seconds", "expected"), [(-5, 1), (0, 0), (30, 30)])
def test_prepare_for_create_normalizes_negative_grace_period(seconds: int, expected: int):
    assert created(terminationGracePeriodSeconds=seconds)["spec"]["terminationGracePeriodSeconds"] == expected


def test_prepare_for_create_merges_label_keys():
    constraint = {"labelSelector": {}, "matchLabelKeys": ["x"]}
    obj = created({"labels": {"x": "y"}}, topologySpreadConstraints=[constraint])
    selector = obj["spec"]["topologySpreadConstraints"][0]["labelSelector"]
    assert selector == {"matchExpressions": [{"key": "x", "operator": "In", "values": ["y"]}]}


def test_prepare_for_create_applies_app_armor_annotations_with_warning():
    ctx = context()
    obj = pod({"annotations": {"container.apparmor.security.beta.kubernetes.io/c": "unconfined"}})
    KIND.prepare_for_create(ctx, obj)
    assert obj["spec"]["containers"][0]["securityContext"] == {"appArmorProfile": {"type": "Unconfined"}}
    assert len(ctx.warnings) == 1


# -- updates ----------------------------------------------------------------------------------------------------------------


def test_prepare_for_update_keeps_status():
    obj = {**pod(), "status": {"phase": "Running"}}
    KIND.prepare_for_update(context(), obj, {**pod(), "status": {"phase": "Failed"}})
    assert obj["status"] == {"phase": "Failed"}


def test_prepare_for_status_update_keeps_owners_and_qos_class():
    owner = {"uid": "u", "name": "o"}
    old = {**pod({"ownerReferences": [owner]}), "status": {"qosClass": "Burstable", "observedGeneration": 3}}
    obj = tree({"ownerReferences": []}, spec={}, status={"phase": "Running"})
    KIND.prepare_for_status_update(context(), obj, old)
    assert obj["spec"] == old["spec"]
    assert obj["metadata"]["ownerReferences"] == [owner]
    assert obj["status"] == {"phase": "Running", "qosClass": "Burstable", "observedGeneration": 3}


def test_prepare_for_status_update_keeps_observed_generations():
    old = {**pod(), "status": {"conditions": [{"type": "Ready", "observedGeneration": 2}]}}
    obj = {**pod(), "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Other"}]}}
    KIND.prepare_for_status_update(context(), obj, old)
    assert [c.get("observedGeneration") for c in obj["status"]["conditions"]] == [2, None]


@pytest.mark.parametrize("subresource", ["ephemeralcontainers", "resize"])
def test_prepare_of_subresources_carries_over_other_fields(subresource: str):
    old = pod()
    obj = copy(pod(hostNetwork=True))
    getattr(KIND, f"prepare_for_{subresource}")(context(), obj, old)
    assert obj["spec"] == old["spec"]
    assert error_texts(getattr(KIND, f"validate_{subresource}")(context(), obj, old)) == []


# -- deletes ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "phase", "requested", "seconds"),
    [
        ({"nodeName": "n"}, "Running", None, 30),
        ({"nodeName": "n"}, "Running", 5, 5),
        ({"nodeName": "n"}, "Running", 0, 0),
        ({"nodeName": "n"}, "Running", -1, 1),
        ({}, "Pending", 30, 0),
        ({"nodeName": "n"}, "Succeeded", 30, 0),
        ({"nodeName": "n"}, "Failed", None, 0),
        ({"nodeName": "n", "terminationGracePeriodSeconds": 7}, "Running", None, 7),
    ],
)
def test_grace_period_seconds_is_zero_unless_pod_is_running_on_node(
    spec: dict, phase: str, requested: int | None, seconds: int
):
    obj = {**pod(**spec), "status": {"phase": phase}}
    assert KIND.grace_period_seconds(context(), obj, requested) == seconds


# -- Table -----------------------------------------------------------------------------------------------------------


def test_field_labels_match_upstream():
    obj = {
        **pod(nodeName="n", serviceAccountName="s", hostNetwork=True),
        "status": {"phase": "Running", "podIPs": [{"ip": "i"}]},
    }
    assert {name: label(obj) for name, label in KIND.field_labels.items()} == {
        "spec.nodeName": "n",
        "spec.restartPolicy": "Always",
        "spec.schedulerName": "default-scheduler",
        "spec.serviceAccountName": "s",
        "spec.hostNetwork": "true",
        "status.phase": "Running",
        "status.podIP": "i",
        "status.podIPs": "",
        "status.nominatedNodeName": "",
    }


def test_status_warnings_about_non_canonical_addresses():
    obj = {**pod(), "status": {"podIPs": [{"ip": "FD00::1"}], "hostIPs": [{"ip": "10.0.0.1"}]}}
    (warning,) = KIND.status_warnings(context(), obj, obj)
    assert warning.startswith('status.podIPs[0].ip: IPv6 address "FD00::1" should be in RFC 5952 canonical format')


def test_warnings_on_create_only():
    obj = pod({"name": "a.b"})
    assert (len(KIND.warnings(context(), obj, None)), list(KIND.warnings(context(), obj, obj))) == (1, [])
