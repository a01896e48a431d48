"""Updates through /ephemeralcontainers and /resize."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import error_texts, pod

from steersman.apiserver.kinds.core.pod.subresources import (
    keep_all_but_ephemeral_containers,
    keep_all_but_resources,
    validate_ephemeral_containers_update,
    validate_resize,
)

MIRROR = {"kubernetes.io/config.mirror": "x"}
EPHEMERAL = {"name": "e", "image": "i"}
POLICY = [{"resourceName": "cpu", "restartPolicy": "NotRequired"}]


def pod_with_ephemeral(*containers: dict, metadata: dict | None = None) -> dict:
    return pod(metadata, ephemeralContainers=list(containers))


def test_keep_all_but_ephemeral_containers_reverts_other_changes():
    new = pod({"labels": {"x": "new"}}, hostNetwork=True, ephemeralContainers=[EPHEMERAL])
    old = {**pod({"labels": {"x": "old"}}), "status": {"phase": "Running"}}
    keep_all_but_ephemeral_containers(new, old)
    added = new["spec"].pop("ephemeralContainers")
    assert (new, [container["name"] for container in added]) == (old, ["e"])


def test_validate_ephemeral_containers_update_accepts_additions():
    assert error_texts(validate_ephemeral_containers_update(pod_with_ephemeral(EPHEMERAL), pod())) == []


def test_validate_ephemeral_containers_update_rejects_removal():
    assert error_texts(validate_ephemeral_containers_update(pod(), pod_with_ephemeral(EPHEMERAL))) == [
        'spec.ephemeralContainers: Forbidden: existing ephemeral containers "e" may not be removed\n'
    ]


def test_validate_ephemeral_containers_update_rejects_changes():
    (fault,) = error_texts(
        validate_ephemeral_containers_update(
            pod_with_ephemeral({**EPHEMERAL, "tty": True}), pod_with_ephemeral(EPHEMERAL)
        )
    )
    assert fault.startswith(
        'spec.ephemeralContainers: Forbidden: existing ephemeral containers "e" may not be changed\n'
    )


def test_validate_ephemeral_containers_update_rejects_static_pods():
    old = pod_with_ephemeral(metadata={"annotations": MIRROR})
    assert [error.body for error in validate_ephemeral_containers_update(old, old)] == [
        "Forbidden: static pods do not support ephemeral containers"
    ]
    assert [error.body for error in validate_resize(old, old)] == ["Forbidden: static pods cannot be resized"]


# -- resize -----------------------------------------------------------------------------------------------------------------


def pod_with_resources(requests: dict | None = None, limits: dict | None = None, **spec: object) -> dict:
    resources = {"requests": requests or {}, "limits": limits or {}}
    return pod(**{"containers": [{"name": "c", "image": "i", "resources": resources}], **spec})


def with_init(*, requests: dict, policy: str = "") -> dict:
    container = {"name": "x", "image": "i", "resources": {"requests": requests}}
    if policy:
        container["resizePolicy"] = [{"resourceName": "cpu", "restartPolicy": policy}]
    return pod_with_resources({"cpu": "1"}, initContainers=[container])


def test_keep_all_but_resources_reverts_other_changes():
    new, old = (
        pod_with_resources({"cpu": "2"}, hostNetwork=True),
        {**pod_with_resources({"cpu": "1"}), "status": {"phase": "Running"}},
    )
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
def test_validate_resize_accepts_cpu_and_memory(new: tuple, old: tuple):
    assert error_texts(validate_resize(pod_with_resources(*new), pod_with_resources(*old))) == []


@pytest.mark.parametrize(
    ("new", "old", "fault"),
    [
        (
            pod_with_resources({"cpu": "1"}, {"cpu": "1"}),
            pod_with_resources({"cpu": "1", "memory": "1Gi"}, {"cpu": "1", "memory": "1Gi"}),
            'spec: Invalid value: "Guaranteed": Pod QOS Class may not change as a result of resizing',
        ),
        (
            pod_with_resources({"cpu": "1"}),
            pod_with_resources({"cpu": "1", "memory": "1Gi"}),
            "spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed",
        ),
        (
            pod_with_resources({"cpu": "1", "ephemeral-storage": "2"}),
            pod_with_resources({"cpu": "1", "ephemeral-storage": "1"}),
            "spec: Forbidden: only cpu and memory resources are mutable",
        ),
        (
            pod_with_resources({"cpu": "1"}, containers=[{"name": "d", "image": "i"}]),
            pod_with_resources({"cpu": "1"}, containers=[{"name": "c", "image": "i"}]),
            "spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize",
        ),
        (
            pod_with_resources(containers=[{"name": "c", "image": "i"}, {"name": "d", "image": "i"}]),
            pod_with_resources(containers=[{"name": "c", "image": "i"}]),
            "spec.containers: Forbidden: containers may not be added or removed on resize",
        ),
        (
            with_init(requests={"cpu": "1", "ephemeral-storage": "2"}),
            with_init(requests={"cpu": "1"}),
            "spec.initContainers[0]: Forbidden: only cpu and memory resources for init or sidecar containers are mutable",
        ),
        (
            with_init(requests={"cpu": "2"}, policy="RestartContainer"),
            with_init(requests={"cpu": "1"}, policy="RestartContainer"),
            (
                "spec.initContainers[0]: Forbidden: non-sidecar init containers with a resize policy of RestartContainer"
                " cannot be resized"
            ),
        ),
        (
            with_init(requests={}),
            with_init(requests={"cpu": "1"}),
            "spec.initContainers[0].resources.requests: Forbidden: resource requests cannot be removed",
        ),
        (
            pod_with_resources(containers=[{"name": "c", "image": "i", "resizePolicy": POLICY}]),
            pod_with_resources(containers=[{"name": "c", "image": "i"}]),
            "spec: Forbidden: only cpu and memory resources are mutable",
        ),
        (
            pod_with_resources({"cpu": "1", "ephemeral-storage": "1"}),
            pod_with_resources(),
            "spec: Forbidden: only cpu and memory resources are mutable",
        ),
        (
            pod_with_resources({"cpu": "1"}),
            pod_with_resources({"cpu": "1"}, resources={"requests": {"cpu": "2"}}),
            "spec.resources: Forbidden: pod-level resources cannot be removed",
        ),
        (
            pod_with_resources(resources={"requests": {"cpu": "2"}}),
            pod_with_resources(resources={"requests": {"cpu": "2", "memory": "1Gi"}}),
            "spec.resources.requests: Forbidden: pod-level resource requests cannot be removed",
        ),
        (
            pod_with_resources(resources={"requests": {"cpu": "2"}, "limits": {"hugepages-2Mi": "2Mi"}}),
            pod_with_resources(resources={"requests": {"cpu": "2"}}),
            "spec: Forbidden: only cpu and memory resources are mutable at pod-level",
        ),
    ],
    ids=[
        "class of service",
        "removal",
        "other resources",
        "other names",
        "other numbers",
        "other resources of init containers",
        "init containers that would restart",
        "removal of init containers",
        "policies",
        "other resources where none were",
        "the pod's own",
        "some of the pod's own",
        "other resources of the pod",
    ],
)
def test_validate_resize_rejects_other_changes(new: dict, old: dict, fault: str):
    assert fault in error_texts(validate_resize(new, old))


def test_validate_resize_rejects_windows_pods():
    old = pod(os={"name": "windows"})
    assert [error.body for error in validate_resize(old, old)] == ["Forbidden: windows pods cannot be resized"]


def test_validate_resize_accepts_init_containers():
    assert error_texts(validate_resize(with_init(requests={"cpu": "2"}), with_init(requests={"cpu": "1"}))) == []


def test_validate_resize_accepts_pod_level_resources():
    new, old = (
        pod_with_resources(resources={"requests": {"cpu": "2"}}),
        pod_with_resources(resources={"requests": {"cpu": "1"}}),
    )
    assert error_texts(validate_resize(new, old)) == []


@pytest.mark.parametrize(
    ("state", "resources", "expected"),
    [
        ("running", None, ["spec: Forbidden: Pod running on node without support for resize"]),
        ("running", {}, []),
        ("waiting", None, []),
    ],
)
def test_validate_resize_requires_resources_in_container_status(
    state: str, resources: dict | None, expected: list[str]
):
    status = {"name": "c", "state": {state: {}}}
    if resources is not None:
        status["resources"] = resources
    old = {**pod_with_resources({"cpu": "1"}), "status": {"containerStatuses": [status]}}
    assert error_texts(validate_resize(pod_with_resources({"cpu": "2"}), old)) == expected
