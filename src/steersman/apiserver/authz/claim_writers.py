"""Who may write which part of a device claim's status (``pkg/registry/resource/utils.go``, KEP-4817).

The right to write ``resourceclaims/status`` is not enough: what is allocated is for who may write
``resourceclaims/binding``, and what drivers say of devices for who may write ``resourceclaims/driver`` of each of them,
on any node or on the one of his token.
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
    """Finds out what a writer of a claim's status may not write."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer: Final = authorizer

    def check(self, ctx: RequestContext, status: Tree, before: Tree) -> Iterator[FieldError]:
        """What is wrong with a status that was ``before``."""
        yield from self._check_allocation(ctx, status, before)
        on_its_node = _is_on(ctx.user, status.get("allocation") or {})
        verbs = [f"{mode}-node:{ctx.verb}" for mode in (("associated", "arbitrary") if on_its_node else ("arbitrary",))]
        need = f'resource="resourceclaims/driver", verb="[{" ".join(verbs)}]"'
        for driver in _changed_drivers(status, before):
            refusals = [self._refusal(ctx, verb, "driver", namespace=ctx.namespace, name=driver) for verb in verbs]
            if all(refusals) and (why := refusals[0]):
                detail = f"changing status.devices requires {need} permission: {why.message}"
                yield field.forbidden(_STATUS.child("devices"), detail)

    def _check_allocation(self, ctx: RequestContext, status: Tree, before: Tree) -> Iterator[FieldError]:
        same = status.get("allocation") == before.get("allocation")
        if same and (status.get("reservedFor") or ()) == (before.get("reservedFor") or ()):
            return
        if why := self._refusal(ctx, ctx.verb, "binding"):
            need = f'resource="resourceclaims/binding", verb="{ctx.verb}"'
            detail = f"changing status.allocation or status.reservedFor requires {need} permission: {why.message}"
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
    """The drivers of devices of which something else is said now."""
    told = {_identity(device): device for device in before.get("devices") or ()}
    now = {_identity(device): device for device in status.get("devices") or ()}
    return sorted({key[0] for key in told.keys() | now.keys() if told.get(key) != now.get(key)})


def _identity(device: Tree) -> tuple[str, ...]:
    return tuple(device.get(part) or "" for part in ("driver", "pool", "device", "shareID"))


def _is_on(user: UserInfo, allocation: Tree) -> bool:
    """Whether a service account's token is bound to the one node that is allocated."""
    match (allocation.get("nodeSelector") or {}).get("nodeSelectorTerms"):
        case [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}], **others}]:
            bound = user.extra.get(_NODE_NAME_EXTRA, ())
            return not others.get("matchExpressions") and bound == (node,) and service_account(user.name) is not None
    return False
