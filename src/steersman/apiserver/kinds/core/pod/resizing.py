"""Resources of Pods whose resize is in progress. Upstream: ``component-helpers/resource``, ``UseStatusResources``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apimachinery.quantity import parse
from steersman.apiserver.kinds.shared.podspec.resources import is_sidecar

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree


def spec_during_resize(pod: Tree) -> Tree:
    """Return the Pod's spec with the maximum of specified, allocated and actual resources.

    The specified resources of an infeasible resize do not count. Resources of other init containers than sidecars
    cannot change.
    """
    spec: Tree = pod["spec"]
    status: Tree = pod.get("status") or {}
    actual = {
        container["name"]: container
        for kind in ("containerStatuses", "initContainerStatuses")
        for container in status.get(kind) or ()
        if container.get("resources") is not None
    }
    is_resized = spec.get("resources") is not None and status.get("resources") is not None
    if not actual and not is_resized:
        return spec
    is_infeasible = _is_infeasible(status)

    def effective(container: Tree) -> Tree:
        container_status = actual.get(container.get("name", ""))
        if container_status is None:
            return container
        resources = _resources(container.get("resources") or {}, container_status, is_infeasible=is_infeasible)
        return {**container, "resources": resources}

    resized: Tree = {
        **spec,
        "containers": [effective(container) for container in spec.get("containers") or ()],
        "initContainers": [
            effective(container) if is_sidecar(container) else container
            for container in spec.get("initContainers") or ()
        ],
    }
    if is_resized:
        resized["resources"] = _resources(spec["resources"], status, is_infeasible=is_infeasible)
    return resized


def _resources(specified: Tree, status: Tree, *, is_infeasible: bool) -> Tree:
    if is_infeasible:
        specified = {}
    actual = status["resources"]
    return {
        "requests": _maximum(specified.get("requests"), actual.get("requests"), status.get("allocatedResources")),
        "limits": _maximum(specified.get("limits"), actual.get("limits")),
    }


def _maximum(*resource_lists: Tree | None) -> Tree:
    """Return the maximum of each resource."""
    result: Tree = {}
    for amounts in resource_lists:
        for name, amount in (amounts or {}).items():
            if name not in result or parse(amount) > parse(result[name]):
                result[name] = amount
    return result


def _is_infeasible(status: Tree) -> bool:
    """Report whether the kubelet has declared the pending resize infeasible."""
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodResizePending":
            return bool(condition.get("reason") == "Infeasible")
    return False
