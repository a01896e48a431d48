"""Pods."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.apiserver.kinds.objects import STAMP, context, copy, defaulted, is_idempotent, pod, told, tree

from steersman.apiserver.kinds.core.pod.strategy import PodStrategy, gated_condition

KIND = PodStrategy()
ips = st.sampled_from([None, "10.0.0.1", "fd00::1"])


@given(ips, st.lists(ips.filter(bool), max_size=2))
def test_defaulting_again_changes_nothing(one: str | None, many: list[str]):
    status = {"podIP": one, "podIPs": [{"ip": ip} for ip in many]}
    assert is_idempotent(KIND, {**pod(), "status": status})


@pytest.mark.parametrize(
    ("said", "one", "many"),
    [
        ({"podIP": "a"}, "a", ["a"]),
        ({"podIPs": [{"ip": "a"}, {"ip": "b"}]}, "a", ["a", "b"]),
        ({"podIP": "c", "podIPs": [{"ip": "a"}]}, "c", ["c"]),
    ],
)
def test_the_list_of_addresses_begins_with_the_older_field(said: dict, one: str, many: list[str]):
    status = defaulted(KIND, {**pod(), "status": said})["status"]
    assert (status["podIP"], [ip["ip"] for ip in status["podIPs"]]) == (one, many)


# -- create -----------------------------------------------------------------------------------------------------------------


def created(metadata: dict | None = None, **spec: object) -> dict:
    obj = {**pod(metadata, **spec), "status": {"phase": "Running"}}
    KIND.prepare_for_create(context(), obj)
    return obj


def test_a_new_pod_is_pending_and_of_a_class_of_service():
    assert created()["status"] == {"phase": "Pending", "qosClass": "BestEffort"}


def test_a_gated_pod_says_why_it_is_not_scheduled():
    assert created(schedulingGates=[{"name": "g"}])["status"]["conditions"] == [gated_condition(STAMP)]
    assert gated_condition(STAMP)["reason"] == "SchedulingGated"


@pytest.mark.parametrize(("seconds", "kept"), [(-5, 1), (0, 0), (30, 30)])
def test_a_negative_grace_period_is_the_shortest(seconds: int, kept: int):
    assert created(terminationGracePeriodSeconds=seconds)["spec"]["terminationGracePeriodSeconds"] == kept


def test_label_keys_become_selectors():
    constraint = {"labelSelector": {}, "matchLabelKeys": ["x"]}
    obj = created({"labels": {"x": "y"}}, topologySpreadConstraints=[constraint])
    selector = obj["spec"]["topologySpreadConstraints"][0]["labelSelector"]
    assert selector == {"matchExpressions": [{"key": "x", "operator": "In", "values": ["y"]}]}


def test_app_armor_is_taken_over_with_a_warning():
    ctx = context()
    obj = pod({"annotations": {"container.apparmor.security.beta.kubernetes.io/c": "unconfined"}})
    KIND.prepare_for_create(ctx, obj)
    assert obj["spec"]["containers"][0]["securityContext"] == {"appArmorProfile": {"type": "Unconfined"}}
    assert len(ctx.warnings) == 1


# -- updates ----------------------------------------------------------------------------------------------------------------


def test_an_update_keeps_the_status():
    obj = {**pod(), "status": {"phase": "Running"}}
    KIND.prepare_for_update(context(), obj, {**pod(), "status": {"phase": "Failed"}})
    assert obj["status"] == {"phase": "Failed"}


def test_a_write_of_the_status_keeps_owners_and_class_of_service():
    owner = {"uid": "u", "name": "o"}
    old = {**pod({"ownerReferences": [owner]}), "status": {"qosClass": "Burstable", "observedGeneration": 3}}
    obj = tree({"ownerReferences": []}, spec={}, status={"phase": "Running"})
    KIND.prepare_for_status_update(context(), obj, old)
    assert obj["spec"] == old["spec"]
    assert obj["metadata"]["ownerReferences"] == [owner]
    assert obj["status"] == {"phase": "Running", "qosClass": "Burstable", "observedGeneration": 3}


def test_writers_that_do_not_know_generations_do_not_take_them_away():
    old = {**pod(), "status": {"conditions": [{"type": "Ready", "observedGeneration": 2}]}}
    obj = {**pod(), "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Other"}]}}
    KIND.prepare_for_status_update(context(), obj, old)
    assert [c.get("observedGeneration") for c in obj["status"]["conditions"]] == [2, None]


@pytest.mark.parametrize("subresource", ["ephemeralcontainers", "resize"])
def test_subresources_change_one_thing(subresource: str):
    old = pod()
    obj = copy(pod(hostNetwork=True))
    getattr(KIND, f"prepare_for_{subresource}")(context(), obj, old)
    assert obj["spec"] == old["spec"]
    assert told(getattr(KIND, f"validate_{subresource}")(context(), obj, old)) == []


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
def test_only_what_runs_on_a_node_ends_with_grace(spec: dict, phase: str, requested: int | None, seconds: int):
    obj = {**pod(**spec), "status": {"phase": phase}}
    assert KIND.grace_period_seconds(context(), obj, requested) == seconds


# -- views ------------------------------------------------------------------------------------------------------------------


def test_pods_can_be_selected_by_these():
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


def test_statuses_with_strange_addresses_are_warned_about():
    obj = {**pod(), "status": {"podIPs": [{"ip": "FD00::1"}], "hostIPs": [{"ip": "10.0.0.1"}]}}
    (warning,) = KIND.status_warnings(context(), obj, obj)
    assert warning.startswith('status.podIPs[0].ip: IPv6 address "FD00::1" should be in RFC 5952 canonical format')


def test_only_new_pods_are_warned_about():
    obj = pod({"name": "a.b"})
    assert (len(KIND.warnings(context(), obj, None)), list(KIND.warnings(context(), obj, obj))) == (1, [])
