"""The downward API: fields of a pod and resources of its containers, as text."""

from __future__ import annotations

import re
from typing import Any, Final

from steersman.apimachinery.gotext import quote
from steersman.apimachinery.quantity import parse

Tree = dict[str, Any]

#: A process listens on loopback, whatever address the API tells of its pod.
LOOPBACK: Final = "127.0.0.1"
_SUBSCRIPT: Final = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]$")


class ConfigError(ValueError):
    """A container cannot be made as it is wanted; the text says why (``CreateContainerConfigError``)."""


def field_text(pod: Tree, path: str, *, ip: str = LOOPBACK) -> str:
    """What ``fieldRef.fieldPath`` names. Raises ``ConfigError``."""
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
            return ip
    raise ConfigError(f"unsupported fieldPath: {path}")


def resource_text(pod: Tree, node: Tree, reference: Tree, *, container: str) -> str:
    """What ``resourceFieldRef`` names, in its divisor's units, rounded up. Raises ``ConfigError``.

    A limit that is not set is what the node can give.
    """
    wanted = reference.get("containerName") or container
    spec = pod.get("spec") or {}
    listed = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    found = next((each for each in listed if each.get("name") == wanted), None)
    kind, _, name = reference.get("resource", "").partition(".")
    if found is None or kind not in ("limits", "requests") or not name:
        raise ConfigError(f"unsupported container resource : {reference.get('resource', '')}")
    resources = found.get("resources") or {}
    amount = (resources.get(kind) or {}).get(name)
    if amount is None and kind == "limits":
        amount = ((node.get("status") or {}).get("allocatable") or {}).get(name)
    divisor = parse(str(reference.get("divisor") or "1")).nanos or parse("1").nanos
    return str(-(-parse(str(amount or "0")).nanos // divisor))
