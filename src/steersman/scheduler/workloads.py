"""Which pods belong together when they do not say it: those of a Service, or of one owner.

Pods without spread constraints of their own are spread over hosts and zones softly, by these selectors.
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
    """Selectors of Services by namespace and name, and of ReplicaSets and their like by UID."""

    def __init__(self) -> None:
        self._services: Final[dict[str, dict[str, Mapping[str, str]]]] = {}
        self._owners: Final[dict[str, LabelSelector]] = {}

    def set_service(self, namespace: str, name: str, selector: Mapping[str, str] | None) -> None:
        """A Service; one without a selector has no pods."""
        services = self._services.setdefault(namespace, {})
        if selector:
            services[name] = selector
        else:
            services.pop(name, None)

    def set_owner(self, uid: str, selector: LabelSelector | None) -> None:
        """A controller of pods; None when it is gone."""
        if selector is None or selector.is_empty:
            self._owners.pop(uid, None)
        else:
            self._owners[uid] = selector

    def selector_of(self, pod: PodInfo) -> LabelSelector | None:
        """What the pods have in common that this one belongs to; None when it belongs to none."""
        labels = pod.labels
        found: list[Requirement] = []
        for selector in self._services.get(pod.namespace, {}).values():
            if all(labels.get(key) == value for key, value in selector.items()):
                found += [requirement(key, "=", [value]) for key, value in selector.items()]
        controller = controller_of(pod.pod)
        owner = self._owners.get(controller.uid) if controller is not None else None
        if owner is not None:
            found += owner.requirements
        return LabelSelector(dict.fromkeys(found)) if found else None
