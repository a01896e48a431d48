"""Audiences for which a kubelet may request service account tokens: those that its pods use (KEP-4412).

A pod uses an audience by a projected token, or by a volume whose CSI driver requires one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.gotext import quote
from steersman.apiserver.admission.lookups import Lookup, whole
from steersman.apiserver.authz.pending import with_decisions
from steersman.apiserver.request import RequestInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.admission.interface import Attributes
    from steersman.apiserver.authz.interface import Authorizer
    from steersman.apiserver.generic.watch_cache import WatchCache


_VERB: Final = "request-serviceaccounts-token-audience"


class Audiences:
    """Check of token audiences, with lookups of volumes and CSI drivers."""

    def __init__(self, cache_of: Callable[[str], WatchCache], authorizer: Authorizer) -> None:
        self._claims: Final = Lookup(cache_of("persistentvolumeclaims"), whole)
        self._volumes: Final = Lookup(cache_of("persistentvolumes"), whole)
        self._drivers: Final = Lookup(cache_of("csidrivers.storage.k8s.io"), _audiences_of)
        self._authorizer: Final = authorizer

    async def check(self, attributes: Attributes, audiences: Sequence[str], pod: Tree) -> None:
        """Raise 403 unless the pod uses the audience or a permission allows it (``""``: the API server's audience)."""
        if len(audiences) > 1:
            raise attributes.forbidden("node may only request 0 or 1 audiences")
        audience = audiences[0] if audiences else ""
        for volume in pod["spec"].get("volumes") or ():
            if audience in await self._audiences_of_volume(pod, volume):
                return
        request = RequestInfo(
            verb=_VERB,
            path="",
            is_resource=True,
            version="v1",
            namespace=attributes.namespace,
            resource=audience,
            name=attributes.name,
        )
        decision = await with_decisions(self._authorizer.authorize, attributes.user, request)
        if not decision.allowed:
            raise attributes.forbidden(
                f"audience {quote(audience)} not found in pod spec volume,"
                f" {attributes.user.name} is not authorized to request tokens for this audience"
            )

    async def _audiences_of_volume(self, pod: Tree, volume: Tree) -> set[str]:
        """Return the audiences of the tokens that a volume uses."""
        if (projected := volume.get("projected")) is not None:
            tokens = [part.get("serviceAccountToken") for part in projected.get("sources") or ()]
            return {token.get("audience") or "" for token in tokens if token is not None}
        driver = await self._driver(pod, volume)
        return await self._drivers.get(driver) or set() if driver else set()

    async def _driver(self, pod: Tree, volume: Tree) -> str:
        """Return the CSI driver of a volume; empty without one."""
        metadata = pod["metadata"]
        if (csi := volume.get("csi")) is not None:
            return csi.get("driver") or ""
        if "ephemeral" in volume:
            name = f"{metadata['name']}-{volume['name']}"
        else:
            name = (volume.get("persistentVolumeClaim") or {}).get("claimName") or ""
        claim = await self._claims.get(name, namespace=metadata.get("namespace", "")) if name else None
        bound = ((claim or {}).get("spec") or {}).get("volumeName")
        volume_object = await self._volumes.get(bound) if bound else None
        return (((volume_object or {}).get("spec") or {}).get("csi") or {}).get("driver") or ""


def _audiences_of(driver: Tree) -> set[str]:
    return {request.get("audience") or "" for request in driver["spec"].get("tokenRequests") or ()}
