from __future__ import annotations

import pytest

from steersman.apiserver.kinds.core.pod.resizing import spec_during_resize


def resized(specified, actual, *, allocated, reason=None):
    resources = {"requests": {"cpu": actual}, "limits": {"cpu": actual}}
    status = {"containerStatuses": [{"name": "c", "resources": resources, "allocatedResources": {"cpu": allocated}}]}
    if reason:
        status["conditions"] = [{"type": "PodResizePending", "status": "True", "reason": reason}]
    container = {"name": "c", "resources": {"requests": {"cpu": specified}, "limits": {"cpu": specified}}}
    return {"spec": {"containers": [container]}, "status": status}


@pytest.mark.parametrize(
    ("pod", "request_", "limit"),
    [
        (resized("1", "2", allocated="2"), "2", "2"),
        (resized("3", "2", allocated="2", reason="Deferred"), "3", "3"),
        (resized("1", "1", allocated="4"), "4", "1"),
        (resized("9", "1", allocated="2", reason="Infeasible"), "2", "1"),
    ],
)
def test_container_has_the_highest_of_specified_allocated_and_actual_resources(pod, request_, limit):
    [container] = spec_during_resize(pod)["containers"]
    assert container["resources"] == {"requests": {"cpu": request_}, "limits": {"cpu": limit}}


def test_only_sidecars_among_init_containers_are_resized():
    init = [
        {"name": "step", "resources": {"requests": {"memory": "1Mi"}}},
        {"name": "sidecar", "restartPolicy": "Always", "resources": {"requests": {"memory": "2Mi"}}},
    ]
    statuses = [{"name": one["name"], "resources": {"requests": {"memory": "32Mi"}}} for one in init]
    pod = {"spec": {"containers": [], "initContainers": init}, "status": {"initContainerStatuses": statuses}}
    step, sidecar = spec_during_resize(pod)["initContainers"]
    assert step == init[0]
    assert sidecar["resources"]["requests"] == {"memory": "32Mi"}


def test_pod_level_resources_are_resized():
    pod = {
        "spec": {"containers": [], "resources": {"requests": {"memory": "64Mi"}}},
        "status": {"resources": {"requests": {"memory": "128Mi"}}, "allocatedResources": {"memory": "96Mi"}},
    }
    assert spec_during_resize(pod)["resources"]["requests"] == {"memory": "128Mi"}


def test_spec_is_returned_as_it_is_when_no_resources_are_reported():
    pod = {"spec": {"containers": [{"name": "c"}]}, "status": {"containerStatuses": [{"name": "c"}]}}
    assert spec_during_resize(pod) is pod["spec"]
