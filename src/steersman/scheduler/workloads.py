"""Selectors of Services and workload controllers, from which default topology spread constraints are built.

Upstream: ``helper.DefaultSelector``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.selectors import LabelSelector, requirement
from steersman.runtime.owners import controller_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from steersman.apimachinery.selectors import Requirement
    from steersman.scheduler.pod_info import PodInfo


class Workloads:
    """Selectors of Services by namespace and name, and of ReplicaSets, StatefulSets and ReplicationControllers by UID."""

    def __init__(self) -> None:
        self._services: Final[dict[str, dict[str, Mapping[str, str]]]] = {}
        self._owners: Final[dict[str, LabelSelector]] = {}

    def set_service(self, namespace: str, name: str, selector: Mapping[str, str] | None) -> None:
        """Add or update a Service; without a selector it is removed."""
        services = self._services.setdefault(namespace, {})
        if selector:
            services[name] = selector
        else:
            services.pop(name, None)

    def set_owner(self, uid: str, selector: LabelSelector | None) -> None:
        """Add or update the selector of a controller; None removes it."""
        if selector is None or selector.is_empty:
            self._owners.pop(uid, None)
        else:
            self._owners[uid] = selector

    def selector_of(self, pod: PodInfo) -> LabelSelector | None:
        """Return the combined selector of the pod's Services and controller; None if it has neither."""
        labels = pod.labels
        requirements: list[Requirement] = []
        for selector in self._services.get(pod.namespace, {}).values():
            if all(labels.get(key) == value for key, value in selector.items()):
                requirements += [requirement(key, "=", [value]) for key, value in selector.items()]
        controller = controller_of(pod.pod)
        owner = self._owners.get(controller.uid) if controller is not None else None
        if owner is not None:
            requirements += owner.requirements
        return LabelSelector(dict.fromkeys(requirements)) if requirements else None
