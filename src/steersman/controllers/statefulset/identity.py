"""Names, labels and storage of a StatefulSet's Pods. Pure rules of ``pkg/controller/statefulset``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from lightkube.models.core_v1 import PersistentVolumeClaim, PersistentVolumeClaimVolumeSource, Pod, Volume
from lightkube.models.meta_v1 import ObjectMeta, OwnerReference

from steersman.client.objects import labels_of, name_of, namespace_of, uid_of
from steersman.runtime.owners import Owner, controller_reference, owners_of
from steersman.runtime.structs import replaced, with_metadata
from steersman.workloads.pods import pod_from_template
from steersman.workloads.revisions import data_hash, template_data

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lightkube.models.apps_v1 import StatefulSet, StatefulSetSpec
    from lightkube.models.core_v1 import PodTemplateSpec

POD_NAME: Final = "statefulset.kubernetes.io/pod-name"
POD_INDEX: Final = "apps.kubernetes.io/pod-index"
REVISION: Final = "controller-revision-hash"
REVISION_HASH: Final = "controller.kubernetes.io/hash"

_NAME: Final = re.compile(r"(.*)-([0-9]+)", re.ASCII | re.DOTALL)
#: Larger ordinals exceed a 32-bit number.
_ORDINAL_MAX: Final = 2**31 - 1


def spec_of(sts: StatefulSet) -> StatefulSetSpec:
    """Return ``spec``, which every StatefulSet has."""
    assert sts.spec is not None
    return sts.spec


def ordinal_of(pod: Pod) -> int:
    """Return the ordinal in the Pod's name; -1 without one."""
    match = _NAME.fullmatch(name_of(pod))
    ordinal = int(match[2]) if match and len(match[2]) <= len(str(_ORDINAL_MAX)) else -1
    return ordinal if ordinal <= _ORDINAL_MAX else -1


def belongs_to(pod: Pod, sts: StatefulSet) -> bool:
    """Report whether the Pod's name is the set's with a number."""
    match = _NAME.fullmatch(name_of(pod))
    return match is not None and match[1] == name_of(sts)


def ordinals(sts: StatefulSet) -> range:
    """Return the range of desired ordinals."""
    spec = spec_of(sts)
    start = (spec.ordinals.start if spec.ordinals else None) or 0
    return range(start, start + (1 if spec.replicas is None else spec.replicas))


def revision_of(pod: Pod) -> str:
    """Return the name of the Pod's ControllerRevision."""
    return labels_of(pod).get(REVISION, "")


def revision_hash(template: PodTemplateSpec, collisions: int) -> str:
    """Return the hash in a revision's name."""
    return data_hash(template_data(template), collisions)


def pod_name(sts: StatefulSet, ordinal: int) -> str:
    """Return the name of a Pod."""
    return f"{name_of(sts)}-{ordinal}"


def new_pod(sts: StatefulSet, template: PodTemplateSpec, revision: str, ordinal: int) -> Pod:
    """Return a Pod to create."""
    reference = controller_reference(sts, api_version="apps/v1", kind="StatefulSet")
    pod = pod_from_template(
        template, owner_name=name_of(sts), namespace=namespace_of(sts), controller=reference
    )  # fmt: skip
    pod = with_metadata(pod, name=pod_name(sts, ordinal), labels=labels_of(pod) | {REVISION: revision})
    spec = replaced(pod.spec, hostname=name_of(pod), subdomain=spec_of(sts).serviceName or None)
    return with_storage(with_identity(replaced(pod, spec=spec)), sts)


def with_identity(pod: Pod) -> Pod:
    """Return the Pod with its identity labels; itself if up to date."""
    labels = labels_of(pod) | {POD_NAME: name_of(pod), POD_INDEX: str(ordinal_of(pod))}
    return pod if labels == labels_of(pod) else with_metadata(pod, labels=labels)


def has_identity(pod: Pod) -> bool:
    """Report whether the label with the Pod's name is correct."""
    return labels_of(pod).get(POD_NAME) == name_of(pod)


# Storage


def claims_of(sts: StatefulSet, pod: Pod) -> dict[str, PersistentVolumeClaim]:
    """Return the Pod's claims by volume name, with all metadata of their templates."""
    selected = spec_of(sts).selector.matchLabels or {}
    claims: dict[str, PersistentVolumeClaim] = {}
    for template in spec_of(sts).volumeClaimTemplates or ():
        metadata = replaced(
            template.metadata or ObjectMeta(),
            name=f"{name_of(template)}-{name_of(sts)}-{ordinal_of(pod)}",
            namespace=namespace_of(sts),
            labels=(labels_of(template) | selected) or None,
        )
        claims[name_of(template)] = replaced(
            template, apiVersion="v1", kind="PersistentVolumeClaim", metadata=metadata, status=None
        )  # fmt: skip
    return claims


def with_storage(pod: Pod, sts: StatefulSet) -> Pod:
    """Return the Pod with its claims as volumes, which replace volumes of the same names."""
    claims = claims_of(sts, pod)
    if not claims:
        return pod
    volumes = [
        Volume(name=name, persistentVolumeClaim=PersistentVolumeClaimVolumeSource(claimName=name_of(claim)))
        for name, claim in claims.items()
    ]
    others = [volume for volume in (pod.spec.volumes if pod.spec else None) or () if volume.name not in claims]
    return replaced(pod, spec=replaced(pod.spec, volumes=[*volumes, *others]))


def has_storage(pod: Pod, sts: StatefulSet) -> bool:
    """Report whether the claims are mounted under their names."""
    mounted = {volume.name: volume.persistentVolumeClaim for volume in (pod.spec.volumes if pod.spec else None) or ()}
    return all(
        (source := mounted.get(name)) is not None and source.claimName == name_of(claim)
        for name, claim in claims_of(sts, pod).items()
    )


# Owner references of claims


def _policies(sts: StatefulSet) -> tuple[bool, bool]:
    """Report whether claims are deleted with the set, and whether with a Pod that scaling removes."""
    policy = spec_of(sts).persistentVolumeClaimRetentionPolicy
    if policy is None:
        return False, False
    return policy.whenDeleted == "Delete", policy.whenScaled == "Delete"


def deletes_claims_when_scaled(sts: StatefulSet) -> bool:
    """Report whether claims are deleted with Pods that scaling removes."""
    return _policies(sts)[1]


def has_unexpected_controller(claim: PersistentVolumeClaim, sts: StatefulSet, pod: Pod) -> bool:
    """Report whether a retention policy deletes the claim, but another controller or a former owner manages it.

    Upstream: ``hasUnexpectedController``.
    """
    if not any(_policies(sts)):
        return False
    uids = {uid_of(sts), uid_of(pod)}
    return any(
        owner.uid not in uids if _names_owner(owner, sts, pod) else owner.controller for owner in owners_of(claim)
    )


def with_owner(claim: PersistentVolumeClaim, sts: StatefulSet, pod: Pod) -> PersistentVolumeClaim:
    """Return the claim owned by the set, its Pod, or neither (KEP-1847); itself if up to date.

    A claim of a former set or Pod of the same name is not changed. One with another controller is owned by neither.
    Upstream: ``isClaimOwnerUpToDate``, ``updateClaimOwnerRefForSetAndPod``.
    """
    uids = {uid_of(sts), uid_of(pod)}
    before = owners_of(claim)
    if any(_names_owner(owner, sts, pod) and owner.uid not in uids for owner in before):
        return claim
    owners = [] if has_unexpected_controller(claim, sts, pod) else _desired_owners(sts, pod)
    if {owner.uid: owner.controller for owner in before if owner.uid in uids} == {owner.uid: True for owner in owners}:
        return claim
    after = [*(owner for owner in before if owner.uid not in uids), *owners]
    return with_metadata(claim, ownerReferences=_typed(after) or None)


def _desired_owners(sts: StatefulSet, pod: Pod) -> list[Owner]:
    with_set, with_pod = _policies(sts)
    if with_pod and ordinal_of(pod) not in ordinals(sts):
        return [controller_reference(pod, api_version="v1", kind="Pod")]
    return [controller_reference(sts, api_version="apps/v1", kind="StatefulSet")] if with_set else []


def _typed(owners: Iterable[Owner]) -> list[OwnerReference]:
    return [OwnerReference(**owner.tree()) for owner in owners]


def _names_owner(owner: Owner, sts: StatefulSet, pod: Pod) -> bool:
    """Report whether the reference names the set or the Pod, whatever its UID."""
    reference = (owner.api_version, owner.kind, owner.name)
    return reference in (("apps/v1", "StatefulSet", name_of(sts)), ("v1", "Pod", name_of(pod)))


def is_stale(claim: PersistentVolumeClaim, pod: Pod) -> bool:
    """Report whether the claim is deleted with an earlier Pod of the same name, which a new Pod must wait for."""
    return any(
        (owner.api_version, owner.kind, owner.name) == ("v1", "Pod", name_of(pod)) and owner.uid != uid_of(pod)
        for owner in owners_of(claim)
    )
