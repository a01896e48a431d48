"""Authorization of changes to ResourceClaim statuses (KEP-4817). Upstream: ``pkg/registry/resource/utils.go``.

Permission for ``resourceclaims/status`` is not sufficient: the allocation requires ``resourceclaims/binding``, and
device statuses require ``resourceclaims/driver`` for each driver, on any node or on the node of the caller's token.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field
from steersman.apiserver.authz.impersonation import service_account
from steersman.apiserver.authz.interface import refusal
from steersman.apiserver.request import RequestInfo
from steersman.apiserver.workers import on_loop

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.errors import StatusError
    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.authz.interface import Authorizer
    from steersman.apiserver.request import RequestContext, UserInfo


_STATUS: Final = field.Path("status")
_NODE_NAME_EXTRA: Final = "authentication.kubernetes.io/node-name"


class ClaimWriters:
    """Authorization checks of status writers."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer: Final = authorizer

    def check(self, ctx: RequestContext, status: Tree, before: Tree) -> Iterator[FieldError]:
        """Yield errors for changes from ``before`` that the writer is not permitted to make."""
        yield from self._check_allocation(ctx, status, before)
        on_its_node = _is_on_allocated_node(ctx.user, status.get("allocation") or {})
        verbs = [f"{mode}-node:{ctx.verb}" for mode in (("associated", "arbitrary") if on_its_node else ("arbitrary",))]
        need = f'resource="resourceclaims/driver", verb="[{" ".join(verbs)}]"'
        for driver in _changed_drivers(status, before):
            refusals = [self._refusal(ctx, verb, "driver", namespace=ctx.namespace, name=driver) for verb in verbs]
            if all(refusals) and (refusal := refusals[0]):
                detail = f"changing status.devices requires {need} permission: {refusal.message}"
                yield field.forbidden(_STATUS.child("devices"), detail)

    def _check_allocation(self, ctx: RequestContext, status: Tree, before: Tree) -> Iterator[FieldError]:
        same = status.get("allocation") == before.get("allocation")
        if same and (status.get("reservedFor") or ()) == (before.get("reservedFor") or ()):
            return
        if error := self._refusal(ctx, ctx.verb, "binding"):
            need = f'resource="resourceclaims/binding", verb="{ctx.verb}"'
            detail = f"changing status.allocation or status.reservedFor requires {need} permission: {error.message}"
            yield field.forbidden(_STATUS, detail)

    def _refusal(
        self, ctx: RequestContext, verb: str, subresource: str, *, namespace: str = "", name: str = ""
    ) -> StatusError | None:
        info = RequestInfo(
            verb,
            "",
            is_resource=True,
            group="resource.k8s.io",
            version=ctx.version,
            namespace=namespace,
            resource="resourceclaims",
            name=name,
            subresource=subresource,
        )
        decision = on_loop(self._authorizer.authorize, ctx.user, info)
        return None if decision.allowed else refusal(ctx.user, info, decision.reason)


def _changed_drivers(status: Tree, before: Tree) -> list[str]:
    """Return the drivers whose device statuses differ."""
    old_devices = {_identity(device): device for device in before.get("devices") or ()}
    new_devices = {_identity(device): device for device in status.get("devices") or ()}
    return sorted(
        {key[0] for key in old_devices.keys() | new_devices.keys() if old_devices.get(key) != new_devices.get(key)}
    )


def _identity(device: Tree) -> tuple[str, ...]:
    return tuple(device.get(part) or "" for part in ("driver", "pool", "device", "shareID"))


def _is_on_allocated_node(user: UserInfo, allocation: Tree) -> bool:
    """Report whether the caller's service account token is bound to the single node of the allocation."""
    match (allocation.get("nodeSelector") or {}).get("nodeSelectorTerms"):
        case [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}], **others}]:
            bound = user.extra.get(_NODE_NAME_EXTRA, ())
            return not others.get("matchExpressions") and bound == (node,) and service_account(user.name) is not None
    return False
