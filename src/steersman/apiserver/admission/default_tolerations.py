"""``DefaultTolerationSeconds``: default tolerations for Nodes that are not ready or unreachable.

Upstream: ``plugin/pkg/admission/defaulttolerationseconds``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from steersman.apiserver.admission.interface import Attributes, Operation, Plugin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from steersman.schema.resources import Resource

TAINTS: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
#: Default of ``--default-not-ready-toleration-seconds`` and ``--default-unreachable-toleration-seconds``.
TOLERATION_SECONDS: Final = 300


class DefaultTolerationSeconds(Plugin):
    """Adds the tolerations to pods that are created or updated without them."""

    name: ClassVar[str] = "DefaultTolerationSeconds"

    def __init__(
        self, not_ready_seconds: int = TOLERATION_SECONDS, unreachable_seconds: int = TOLERATION_SECONDS
    ) -> None:
        self._seconds: Final = dict(zip(TAINTS, (not_ready_seconds, unreachable_seconds), strict=True))

    def handles(self, resource: Resource, subresource: str, operation: Operation) -> bool:
        """True for creates and updates of pods."""
        is_pod = resource.name == "pods" and not resource.group and not subresource
        return is_pod and operation in (Operation.CREATE, Operation.UPDATE)

    def admit(self, attributes: Attributes) -> None:
        """Add the tolerations that are missing."""
        if attributes.object is not None:
            add_default_tolerations(attributes.object["spec"], self._seconds)


def add_default_tolerations(spec: dict[str, Any], seconds: Mapping[str, int]) -> None:
    """Add a toleration with its seconds for each taint that is not yet tolerated."""
    tolerations = spec.get("tolerations")
    missing = [key for key in seconds if not _covers(tolerations, key)] if tolerations else list(seconds)
    if missing:
        spec["tolerations"] = [
            *(tolerations or ()),
            *[
                {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds[key]}
                for key in missing
            ],
        ]


def _covers(tolerations: list[dict[str, Any]], key: str) -> bool:
    return any(
        (not t.get("key") or t["key"] == key) and t.get("effect") in (None, "", "NoExecute") for t in tolerations
    )
