"""``DefaultTolerationSeconds``: a pod outlives its node's silence for five minutes, unless it says otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.apiserver.admission.interface import Attributes, Operation, Plugin

if TYPE_CHECKING:
    from steersman.schema.resources import Resource

TAINTS: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
SECONDS: Final = 300


class DefaultTolerationSeconds(Plugin):
    """Pods that are created or updated."""

    name: ClassVar[str] = "DefaultTolerationSeconds"

    def __init__(self, *, seconds: int = SECONDS) -> None:
        self._seconds: Final = seconds

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """Pods themselves, not their subresources."""
        is_pod = resource.name == "pods" and not resource.group and not subresource
        return is_pod and operation in (Operation.CREATE, Operation.UPDATE)

    def admit(self, attributes: Attributes) -> None:
        """Add what is missing."""
        if attributes.object is not None:
            add_default_tolerations(attributes.object["spec"], seconds=self._seconds)


def add_default_tolerations(spec: dict[str, Any], *, seconds: int = SECONDS) -> None:
    """Tolerate each of the two taints for ``seconds``, where no toleration covers it yet."""
    tolerations = spec.get("tolerations")
    missing = [key for key in TAINTS if not _covers(tolerations, key)] if tolerations else TAINTS
    if missing:
        spec["tolerations"] = [
            *(tolerations or ()),
            *[
                {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}
                for key in missing
            ],
        ]


def _covers(tolerations: list[dict[str, Any]], key: str) -> bool:
    return any(
        (not t.get("key") or t["key"] == key) and t.get("effect") in (None, "", "NoExecute") for t in tolerations
    )
