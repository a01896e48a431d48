"""The downward API: fields of a pod and resources of its containers, as text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.gotext import quote
from steersman.apimachinery.quantity import parse

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree

#: Listening address of processes, independent of the pod's address in the API.
LOOPBACK: Final = "127.0.0.1"
_SUBSCRIPT: Final = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]$")


class ContainerConfigError(ValueError):
    """A container cannot be created from its configuration; the message is the reason (``CreateContainerConfigError``)."""


def grace_seconds_of(pod: Tree) -> float:
    """Return the pod's termination grace period."""
    seconds = (pod.get("spec") or {}).get("terminationGracePeriodSeconds")
    return 30.0 if seconds is None else float(seconds)


def field_text(pod: Tree, path: str) -> str:
    """Return the value of ``fieldRef.fieldPath``. Raises ``ContainerConfigError``."""
    metadata, spec = pod["metadata"], pod.get("spec") or {}
    subscript = _SUBSCRIPT.match(path)
    if subscript is not None:
        return str((metadata.get(subscript[1]) or {}).get(subscript[2], ""))
    match path:
        case "metadata.name" | "metadata.namespace" | "metadata.uid":
            return str(metadata.get(path.removeprefix("metadata."), ""))
        case "metadata.labels" | "metadata.annotations":
            listed = metadata.get(path.removeprefix("metadata.")) or {}
            return "\n".join(f"{name}={quote(str(value))}" for name, value in sorted(listed.items()))
        case "spec.nodeName" | "spec.serviceAccountName":
            return str(spec.get(path.removeprefix("spec."), ""))
        case "status.podIP" | "status.podIPs" | "status.hostIP" | "status.hostIPs":
            return LOOPBACK
    raise ContainerConfigError(f"unsupported fieldPath: {path}")


def resource_text(pod: Tree, node: Tree, reference: Tree, *, container: str) -> str:
    """Return the value of ``resourceFieldRef``, in units of its divisor, rounded up. Raises ``ContainerConfigError``.

    The default of a missing limit is the node's allocatable amount.
    """
    container_name = reference.get("containerName") or container
    spec = pod.get("spec") or {}
    listed = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    container_spec = next(
        (container_spec for container_spec in listed if container_spec.get("name") == container_name), None
    )
    kind, _, name = reference.get("resource", "").partition(".")
    if container_spec is None or kind not in ("limits", "requests") or not name:
        raise ContainerConfigError(f"unsupported container resource : {reference.get('resource', '')}")
    resources = container_spec.get("resources") or {}
    amount = (resources.get(kind) or {}).get(name)
    if amount is None and kind == "limits":
        amount = ((node.get("status") or {}).get("allocatable") or {}).get(name)
    divisor = parse(str(reference.get("divisor") or "1")).nanos or parse("1").nanos
    return str(-(-parse(str(amount or "0")).nanos // divisor))
