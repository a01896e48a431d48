"""Device claims that a pod uses, and pods that a claim is reserved for (KEP-4381). Typed structs only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.client.objects import uid_of
from steersman.runtime.owners import is_controlled_by

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lightkube.models.core_v1 import Pod, PodResourceClaim
    from lightkube.models.resource_v1 import ResourceClaim, ResourceClaimConsumerReference


def entries(pod: Pod) -> list[PodResourceClaim]:
    """Return ``spec.resourceClaims``."""
    return (pod.spec.resourceClaims if pod.spec else None) or []


def claim_name(pod: Pod, entry: PodResourceClaim) -> tuple[bool, str | None]:
    """Return whether the claim is determined, and its name; None if no claim is needed."""
    if entry.resourceClaimName:
        return True, entry.resourceClaimName
    for status in (pod.status.resourceClaimStatuses if pod.status else None) or ():
        if status.name == entry.name:
            return True, status.resourceClaimName or None
    return False, None


def claim_names(pod: Pod) -> list[str]:
    """Return the names of the Pod's claims that exist."""
    return [name for entry in entries(pod) if (name := claim_name(pod, entry)[1])]


def consumers(claim: ResourceClaim) -> list[ResourceClaimConsumerReference]:
    """Return ``status.reservedFor``."""
    return (claim.status.reservedFor if claim.status else None) or []


def is_pod(consumer: ResourceClaimConsumerReference) -> bool:
    """Report whether the consumer is a Pod."""
    return not consumer.apiGroup and consumer.resource == "pods"


def claims_in_use(pod: Pod, claim_of: Callable[[str], ResourceClaim | None]) -> Iterator[ResourceClaim]:
    """Yield the claims of the pod that are reserved for it; a claim made from a template must be owned by the pod.

    ``claim_of`` returns a claim of the pod's namespace by name.
    """
    for entry in entries(pod):
        name = claim_name(pod, entry)[1]
        claim = claim_of(name) if name else None
        if claim is None or not any(is_pod(consumer) and consumer.uid == uid_of(pod) for consumer in consumers(claim)):
            continue
        if entry.resourceClaimName or is_controlled_by(claim, pod):
            yield claim
