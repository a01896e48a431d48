"""Quota evaluator of Pods. Upstream: ``pkg/quota/v1/evaluator/core/pods.go``."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.timestamps import add_seconds
from steersman.apiserver.kinds.core.pod.resizing import spec_during_resize
from steersman.apiserver.kinds.shared.podspec.resource_names import is_extended, is_native
from steersman.apiserver.kinds.shared.podspec.resources import is_pod_level_resource, pod_totals, qos_class
from steersman.apiserver.kinds.shared.quota.amounts import ONE
from steersman.apiserver.kinds.shared.quota.evaluator import Evaluator, is_selected

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.kinds.shared.quota.amounts import Amounts

_COUNT: Final = "count/pods"
_REQUESTS: Final = "requests."
_LIMITS: Final = "limits."
_COMPUTE: Final = ("cpu", "memory", "ephemeral-storage")
_HUGE_PAGES: Final = "hugepages-"
#: Prefix of the implicit extended resource name of every device class.
_DEVICE_CLASS: Final = "deviceclass.resource.kubernetes.io/"
_NAMES: Final = frozenset(
    {_COUNT, "pods", *_COMPUTE, *(f"{prefix}{name}" for prefix in (_REQUESTS, _LIMITS) for name in _COMPUTE)}
)
#: Resources that each container must specify if a quota limits them.
_REQUIRED_BY_QUOTA: Final = frozenset(
    {"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"}
)
_TERMS: Final = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)


class PodEvaluator(Evaluator):
    """Quota evaluator of Pods. Compute resources count until the Pod terminates.

    An update of ``activeDeadlineSeconds`` may move a Pod between the scopes Terminating and NotTerminating.
    """

    counts_updates = True
    counted_subresources = ("resize",)

    def __init__(self) -> None:
        super().__init__("pods")

    def concerns_update(self, obj: Tree, old: Tree) -> bool:
        return _has_deadline(obj["spec"]) != _has_deadline(old["spec"])

    def matching(self, names: Iterable[str]) -> list[str]:
        return sorted(name for name in names if name in _NAMES or _is_extended_or_huge_pages(name))

    def usage(self, obj: Tree, now: datetime) -> Amounts:
        usage: Amounts = {_COUNT: ONE}
        if is_alive(obj, now):
            spec = spec_during_resize(obj)
            usage["pods"] = ONE
            usage |= _with_quota_names(pod_totals(spec, "requests"), pod_totals(spec, "limits"))
        return usage

    def fault(self, required: Iterable[str], obj: Tree) -> str:
        needed = _REQUIRED_BY_QUOTA.intersection(required)
        if not needed or _has_pod_level_resources(obj["spec"]):
            return ""
        missing: dict[str, set[str]] = {}
        for container in _containers(obj["spec"]):
            for name in needed - _specified_resources(container):
                missing.setdefault(name, set()).add(container.get("name", ""))
        listed = (f"{name} for: {','.join(sorted(missing[name]))}" for name in sorted(missing))
        return f"must specify {'; '.join(listed)}" if missing else ""

    def is_in_scope(self, selector: Tree, obj: Tree) -> bool:
        spec = obj["spec"]
        match selector.get("scopeName"):
            case "Terminating":
                return _has_deadline(spec)
            case "NotTerminating":
                return not _has_deadline(spec)
            case "BestEffort":
                return qos_class(spec) == "BestEffort"
            case "NotBestEffort":
                return qos_class(spec) != "BestEffort"
            case "PriorityClass":
                return is_selected(selector, spec.get("priorityClassName"))
            case "CrossNamespacePodAffinity":
                return _has_cross_namespace_affinity(spec.get("affinity") or {})
        return False


def is_alive(pod: Tree, now: datetime) -> bool:
    """Report whether a Pod uses compute resources: not terminated, and not past its deletion time and grace period."""
    if (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return False
    metadata = pod["metadata"]
    deleted, grace = metadata.get("deletionTimestamp"), metadata.get("deletionGracePeriodSeconds")
    if not deleted or grace is None:
        return True
    return now <= add_seconds(datetime.fromisoformat(deleted), grace)


def _is_extended_or_huge_pages(name: str) -> bool:
    """Report whether a resource is extended or huge pages. Upstream: ``isExtendedResourceNameForQuota``."""
    plain = name.removeprefix(_REQUESTS)
    if plain.startswith(_HUGE_PAGES):
        return True
    return plain != name and (not is_native(name) or plain.startswith(_DEVICE_CLASS))


def _with_quota_names(requests: Amounts, limits: Amounts) -> Amounts:
    """Return usage under the resource names of quotas: ``requests.cpu`` and ``cpu``, ``limits.cpu``, …"""
    usage: Amounts = {}
    for name, amount in requests.items():
        if name in _COMPUTE or name.startswith(_HUGE_PAGES):
            usage[name] = amount
            usage[_REQUESTS + name] = amount
        elif is_extended(name) or name.startswith(_DEVICE_CLASS):
            usage[_REQUESTS + name] = amount
    for name, amount in limits.items():
        if name in _COMPUTE:
            usage[_LIMITS + name] = amount
    return usage


def _has_pod_level_resources(spec: Tree) -> bool:
    """Report whether any Pod-level request or limit is set. Upstream: ``IsPodLevelResourcesSet``."""
    resources = spec.get("resources") or {}
    return any(is_pod_level_resource(name) for key in ("requests", "limits") for name in resources.get(key) or ())


def _specified_resources(holder: Tree) -> set[str]:
    """Return the quota resources that the ``resources`` of a container specify."""
    resources = holder.get("resources") or {}
    resource_names: set[str] = set()
    for name in resources.get("requests") or ():
        resource_names |= {name, _REQUESTS + name}
    return resource_names | {_LIMITS + name for name in resources.get("limits") or ()}


def _containers(spec: Tree) -> Iterator[Tree]:
    yield from spec.get("containers") or ()
    yield from spec.get("initContainers") or ()


def _has_deadline(spec: Tree) -> bool:
    deadline = spec.get("activeDeadlineSeconds")
    return deadline is not None and deadline >= 0


def _has_cross_namespace_affinity(affinity: Tree) -> bool:
    """Report whether any affinity term selects Pods of other namespaces."""
    for kind in ("podAffinity", "podAntiAffinity"):
        for strength in _TERMS:
            for term in (affinity.get(kind) or {}).get(strength) or ():
                inner: Any = term.get("podAffinityTerm", term)
                if inner.get("namespaces") or inner.get("namespaceSelector") is not None:
                    return True
    return False
