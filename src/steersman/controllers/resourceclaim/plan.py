"""Claims that a pod needs, and consumers that a claim stays reserved for. Pure rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.models.resource_v1 import ResourceClaim, ResourceClaimConsumerReference, ResourceClaimStatus

from steersman.client.objects import annotations_of, metadata_field, name_of, namespace_of, uid_of
from steersman.runtime.finalizers import has_finalizer, is_being_deleted, without_finalizer
from steersman.runtime.owners import Owner, controller_of, is_controlled_by
from steersman.workloads.pods import is_finished, node_of
from steersman.workloads.resource_claims import claim_name, entries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lightkube.models.core_v1 import Pod
    from lightkube.models.resource_v1 import ResourceClaimTemplate

POD_CLAIM: Final = "resource.kubernetes.io/pod-claim-name"
FINALIZER: Final = "resource.kubernetes.io/delete-protection"
#: Maximum length of the name prefix, without dash and suffix.
_BASE_MAX: Final = 57
_RESERVED_MAX: Final = 256


class NoTemplate(LookupError):  # noqa: N818 — named by the condition
    """The ResourceClaimTemplate does not exist."""


@dataclass(frozen=True, slots=True)
class MissingClaim:
    """Claim to create from a template."""

    entry: str
    template: str


def is_done(pod: Pod) -> bool:
    """Report whether the pod will not use its claims anymore."""
    return is_finished(pod) or (is_being_deleted(pod) and not node_of(pod))


def missing(pod: Pod, claim_of: Callable[[str], ResourceClaim | None]) -> list[MissingClaim]:
    """Return the claims to create, including those in the pod's status that were deleted or that it does not own."""
    missing_claims: list[MissingClaim] = []
    for entry in entries(pod):
        if not entry.resourceClaimTemplateName:
            continue
        is_named, name = claim_name(pod, entry)
        if is_named and name is None:
            continue
        claim = claim_of(name) if name else None
        if claim is None or not is_controlled_by(claim, pod):
            missing_claims.append(MissingClaim(entry.name, entry.resourceClaimTemplateName))
    return missing_claims


def find_created_claim(pod: Pod, entry: str, claims: Iterable[ResourceClaim]) -> ResourceClaim | None:
    """Return a claim that was created for the entry but is not in the pod's status."""
    for claim in claims:
        if made_for(claim) == (uid_of(pod), entry):
            return claim
    return None


def made_for(claim: ResourceClaim) -> tuple[str, str]:
    """Return UID and entry of the pod that the claim was created for; both empty for other claims."""
    owner = controller_of(claim)
    return (owner.uid if owner is not None else "", annotations_of(claim).get(POD_CLAIM, ""))


def from_template(pod: Pod, entry: str, template: ResourceClaimTemplate) -> ResourceClaim:
    """Return the claim to create."""
    metadata = template.spec.metadata or ObjectMeta()
    return ResourceClaim(
        metadata=ObjectMeta(
            generateName=f"{_base(name_of(pod), entry)}-",
            namespace=namespace_of(pod),
            labels=metadata.labels,
            annotations={**(metadata.annotations or {}), POD_CLAIM: entry},
            ownerReferences=[Owner("v1", "Pod", name_of(pod), uid_of(pod), controller=True).typed()],
        ),
        spec=template.spec.spec,
    )


def _base(pod: str, entry: str) -> str:
    """Return the name prefix; both parts are truncated in proportion."""
    length = len(pod) + 1 + len(entry)
    if length <= _BASE_MAX:
        return f"{pod}-{entry}"
    return f"{pod[: len(pod) * _BASE_MAX // length]}-{entry[: len(entry) * _BASE_MAX // length]}"


def status_patch(pod: Pod, claim_names: dict[str, str]) -> dict[str, Any]:
    """Return the pod status for server-side apply, with existing and created claims by entry."""
    old = (pod.status.resourceClaimStatuses if pod.status else None) or ()
    listed = {status.name: status.resourceClaimName for status in old} | claim_names
    rows = [{"name": name} | ({"resourceClaimName": claim} if claim else {}) for name, claim in listed.items()]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name_of(pod), "namespace": namespace_of(pod)},
        "status": {"resourceClaimStatuses": rows},
    }


def reserved(claim: ResourceClaim, pod: Pod) -> ResourceClaim | None:
    """Return the claim reserved for a pod that was bound without the scheduler; None if not needed or impossible."""
    status = claim.status
    if status is None or status.allocation is None or not node_of(pod):
        return None
    listed = status.reservedFor or []
    if len(listed) >= _RESERVED_MAX or any(consumer.uid == uid_of(pod) for consumer in listed):
        return None
    consumer = ResourceClaimConsumerReference(name=name_of(pod), resource="pods", uid=uid_of(pod))
    return msgspec.structs.replace(claim, status=msgspec.structs.replace(status, reservedFor=[*listed, consumer]))


def without_consumers(claim: ResourceClaim, removed: Iterable[ResourceClaimConsumerReference]) -> ResourceClaim | None:
    """Return the claim without these consumers; without any it is deallocated, if this controller is responsible.

    None if the status stays.
    """
    status = claim.status or ResourceClaimStatus()
    gone_uids = {consumer.uid for consumer in removed}
    remaining = [consumer for consumer in status.reservedFor or () if consumer.uid not in gone_uids]
    new = msgspec.structs.replace(status, reservedFor=remaining or None)
    is_free = not remaining and (gone_uids or is_being_deleted(claim))
    if is_free and has_finalizer(claim, FINALIZER):
        new = msgspec.structs.replace(new, allocation=None, devices=None)
    return None if new == status else msgspec.structs.replace(claim, status=new)


def without_protection(claim: ResourceClaim) -> ResourceClaim | None:
    """Return the claim without its finalizer, once it is deallocated; None while it keeps it."""
    status = claim.status or ResourceClaimStatus()
    if status.allocation is not None or status.reservedFor or not has_finalizer(claim, FINALIZER):
        return None
    return without_finalizer(claim, FINALIZER)


def owning_pod(claim: ResourceClaim) -> Owner | None:
    """Return the pod that owns the claim."""
    owner = controller_of(claim)
    return owner if owner is not None and (owner.api_version, owner.kind) == ("v1", "Pod") else None


def is_leftover(claim: ResourceClaim, pod: Pod | None) -> bool:
    """Report whether the claim was created for ``pod`` and can be deleted before the pod."""
    if pod is None or not is_controlled_by(claim, pod) or is_being_deleted(claim):
        return False
    return is_done(pod) and not (claim.status and claim.status.reservedFor)


def is_for_other(pod: Pod | None, consumer: ResourceClaimConsumerReference) -> bool:
    """Report whether the pod of that name is not the consumer, or has terminated. False for None: the pod may not be cached yet."""
    return pod is not None and (metadata_field(pod, "uid") != consumer.uid or is_done(pod))
