"""Ephemeral containers and resizes."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds import pod, told

from steersman.apiserver.registry.core.pod_subresources import (
    keep_all_but_ephemeral_containers,
    keep_all_but_resources,
    validate_ephemeral_containers_update,
    validate_resize,
)

MIRROR = {"kubernetes.io/config.mirror": "x"}
EPHEMERAL = {"name": "e", "image": "i"}


def looked_into(*containers: dict, metadata: dict | None = None) -> dict:
    return pod(metadata, ephemeralContainers=list(containers))


def test_only_ephemeral_containers_are_taken_over():
    new = pod({"labels": {"x": "new"}}, hostNetwork=True, ephemeralContainers=[EPHEMERAL])
    old = {**pod({"labels": {"x": "old"}}), "status": {"phase": "Running"}}
    keep_all_but_ephemeral_containers(new, old)
    added = new["spec"].pop("ephemeralContainers")
    assert (new, [container["name"] for container in added]) == (old, ["e"])


def test_ephemeral_containers_come():
    assert told(validate_ephemeral_containers_update(looked_into(EPHEMERAL), pod())) == []


def test_and_stay():
    assert told(validate_ephemeral_containers_update(pod(), looked_into(EPHEMERAL))) == [
        'spec.ephemeralContainers: Forbidden: existing ephemeral containers "e" may not be removed\n'
    ]


def test_as_they_are():
    (fault,) = told(
        validate_ephemeral_containers_update(looked_into({**EPHEMERAL, "tty": True}), looked_into(EPHEMERAL))
    )
    assert fault.startswith(
        'spec.ephemeralContainers: Forbidden: existing ephemeral containers "e" may not be changed\n'
    )


def test_static_pods_are_their_kubelets():
    old = looked_into(metadata={"annotations": MIRROR})
    assert [error.body for error in validate_ephemeral_containers_update(old, old)] == [
        "Forbidden: static pods do not support ephemeral containers"
    ]
    assert [error.body for error in validate_resize(old, old)] == ["Forbidden: static pods cannot be resized"]


# -- resize -----------------------------------------------------------------------------------------------------------------


def sized(requests: dict | None = None, limits: dict | None = None, **spec: object) -> dict:
    resources = {"requests": requests or {}, "limits": limits or {}}
    return pod(**{"containers": [{"name": "c", "image": "i", "resources": resources}], **spec})


def test_only_resources_are_taken_over():
    new, old = sized({"cpu": "2"}, hostNetwork=True), {**sized({"cpu": "1"}), "status": {"phase": "Running"}}
    keep_all_but_resources(new, old)
    assert new["spec"]["containers"][0].pop("resources")["requests"] == {"cpu": "2"}
    del old["spec"]["containers"][0]["resources"]
    assert new == old


@pytest.mark.parametrize(
    ("new", "old"),
    [
        (({"cpu": "2"},), ({"cpu": "1"},)),
        (({"cpu": "1"}, {"cpu": "2"}), ({"cpu": "1"}, {"cpu": "3"})),
        (({"memory": "1Gi"},), ({"memory": "2Gi"},)),
    ],
)
def test_cpu_and_memory_change(new: tuple, old: tuple):
    assert told(validate_resize(sized(*new), sized(*old))) == []


@pytest.mark.parametrize(
    ("new", "old", "fault"),
    [
        (
            sized({"cpu": "1"}, {"cpu": "1"}),
            sized({"cpu": "1", "memory": "1Gi"}, {"cpu": "1", "memory": "1Gi"}),
            'spec: Invalid value: "Guaranteed": Pod QOS Class may not change as a result of resizing',
        ),
        (
            sized({"cpu": "1"}),
            sized({"cpu": "1", "memory": "1Gi"}),
            "spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed",
        ),
        (
            sized({"cpu": "1", "ephemeral-storage": "2"}),
            sized({"cpu": "1", "ephemeral-storage": "1"}),
            "spec: Forbidden: only cpu and memory resources are mutable",
        ),
        (
            sized({"cpu": "1"}, containers=[{"name": "d", "image": "i"}]),
            sized({"cpu": "1"}, containers=[{"name": "c", "image": "i"}]),
            "spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize",
        ),
        (
            sized(containers=[{"name": "c", "image": "i"}, {"name": "d", "image": "i"}]),
            sized(containers=[{"name": "c", "image": "i"}]),
            "spec.containers: Forbidden: containers may not be added or removed on resize",
        ),
        (
            sized({"cpu": "1"}, initContainers=[{"name": "x", "image": "i", "resources": {"requests": {"cpu": "2"}}}]),
            sized({"cpu": "1"}, initContainers=[{"name": "x", "image": "i", "resources": {"requests": {"cpu": "1"}}}]),
            "spec: Forbidden: resources for non-sidecar init containers are immutable",
        ),
    ],
    ids=["class of service", "removal", "other resources", "other names", "other numbers", "init containers"],
)
def test_what_does_not(new: dict, old: dict, fault: str):
    assert fault in told(validate_resize(new, old))


def test_pods_of_windows_are_not_resized():
    old = pod(os={"name": "windows"})
    assert [error.body for error in validate_resize(old, old)] == ["Forbidden: windows pods cannot be resized"]
