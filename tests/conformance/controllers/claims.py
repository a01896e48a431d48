"""Scenario of claims generated for pods, of volumes and devices: one for each entry, and none without its pod."""

from __future__ import annotations

from collections import Counter
from typing import Any

from lightkube.models.core_v1 import PersistentVolumeClaim, Pod
from lightkube.models.resource_v1 import ResourceClaim, ResourceClaimTemplate
from tests.conformance.histories import NAMESPACE, Edits, Scenario, World

from steersman.client.objects import annotations_of, metadata_field, name_of, uid_of
from steersman.runtime.owners import controller_of
from steersman.workloads.pods import is_finished, node_of

PODS = 4
VOLUMES = ("x", "y")
TEMPLATES = ("s", "t")
#: Manually created claim that several pods share.
SHARED = "shared"
_FINALIZER = "resource.kubernetes.io/delete-protection"
_ENTRY = "resource.kubernetes.io/pod-claim-name"


class Claims(Scenario):
    """Pods with few names come and go with their entries; claims are allocated, lost, and created manually."""

    #: The last removes the finalizers of claims that the one before deletes.
    controllers = ("ephemeral-volume-controller", "resourceclaim-controller", "garbage-collector-controller",
                   "persistentvolumeclaim-protection-controller")  # fmt: skip

    def edits(self) -> Edits:
        return [self.make_pod, self.make_pod, self.make_pod, self.replace_pod, self.replace_pod,
                self.terminate_pod, self.end_pod, self.assign, self.make_template, self.make_template,
                self.remove_template, self.lose_claim, self.lose_volume_claim, self.take_name,
                self.share, self.allocate, self.allocate]  # fmt: skip

    async def live(self, world: World) -> None:
        await world.remove_deleted_pods()

    # Pods

    async def make_pod(self, world: World) -> None:
        await self.create_pod(world, f"p{world.dice.randrange(PODS)}")

    async def create_pod(self, world: World, name: str) -> None:
        dice = world.dice
        claim = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
        volumes = [
            {"name": volume, "ephemeral": {"volumeClaimTemplate": claim}} for volume in VOLUMES if dice.random() < 0.5
        ]
        entries = [
            {"name": f"of-{template}", "resourceClaimTemplateName": template}
            for template in TEMPLATES
            if dice.random() < 0.5
        ]
        entries += [{"name": SHARED, "resourceClaimName": SHARED}] if dice.random() < 0.3 else []
        container = {"name": "c", "image": "i", "resources": {"claims": [{"name": entry["name"]} for entry in entries]}}
        spec: dict[str, Any] = {"containers": [container], "volumes": volumes, "resourceClaims": entries}
        spec |= {"nodeName": "n"} if dice.random() < 0.5 else {}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
        await world.client.create(body, namespace=NAMESPACE)

    async def assign(self, world: World) -> None:
        pod = await world.any(Pod, lambda pod: not node_of(pod))
        if pod is not None:
            await world.bind(pod, "n")

    # Claims

    async def make_template(self, world: World) -> None:
        body = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate",
                "metadata": {"name": world.dice.choice(TEMPLATES)}, "spec": {"spec": _devices()}}  # fmt: skip
        await world.client.create(body, namespace=NAMESPACE)

    async def remove_template(self, world: World) -> None:
        await world.client.delete(ResourceClaimTemplate, world.dice.choice(TEMPLATES), namespace=NAMESPACE)

    async def share(self, world: World) -> None:
        body = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": SHARED}}
        await world.client.create({**body, "spec": _devices()}, namespace=NAMESPACE)

    async def lose_claim(self, world: World) -> None:
        claim = await world.any(ResourceClaim)
        if claim is not None:
            await world.client.delete_object(claim)

    async def lose_volume_claim(self, world: World) -> None:
        """Delete a claim with its finalizers."""
        claim = await world.any(PersistentVolumeClaim)
        if claim is not None:
            patch = {"metadata": {"finalizers": None}}
            await world.client.patch(PersistentVolumeClaim, name_of(claim), patch, namespace=NAMESPACE)
            await world.client.delete_object(claim)

    async def take_name(self, world: World) -> None:
        """Create a foreign claim with the generated name."""
        name = f"p{world.dice.randrange(PODS)}-{world.dice.choice(VOLUMES)}"
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        body = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}
        await world.client.create(body, namespace=NAMESPACE)

    async def allocate(self, world: World) -> None:
        """Set the finalizer, then reserve for a pod that names the claim, as the scheduler does."""
        pod = await world.any(Pod, lambda pod: bool(_named(pod)) and not is_finished(pod))
        if pod is None:
            return
        for name in _named(pod).values():
            claim = await world.client.get(ResourceClaim, name, namespace=NAMESPACE)
            if metadata_field(claim, "deletionTimestamp"):
                continue
            finalizers = {"metadata": {"uid": uid_of(claim), "finalizers": [_FINALIZER]}}
            await world.client.patch(ResourceClaim, name, finalizers, namespace=NAMESPACE)
            consumer = {"resource": "pods", "name": name_of(pod), "uid": uid_of(pod)}
            old = [{"resource": reserved.resource, "name": reserved.name, "uid": reserved.uid}
                   for reserved in (claim.status.reservedFor if claim.status else None) or ()]  # fmt: skip
            result = {"request": "r", "driver": "d.example.com", "pool": "p", "device": "e"}
            status = {"allocation": {"devices": {"results": [result]}}, "reservedFor": [*old, consumer]}
            patch = {"metadata": {"uid": uid_of(claim)}, "status": status}
            await world.client.patch(ResourceClaim, name, patch, namespace=NAMESPACE, subresource="status")

    # What must be so

    async def wrong(self, world: World) -> str:
        pods = await world.all(Pod)
        volume_claims = {name_of(claim): claim for claim in await world.all(PersistentVolumeClaim)}
        claims = {name_of(claim): claim for claim in await world.all(ResourceClaim)}
        templates = {name_of(template) for template in await world.all(ResourceClaimTemplate)}
        living = {uid_of(pod): pod for pod in pods}
        for claim in (*volume_claims.values(), *claims.values()):
            owner = controller_of(claim)
            if owner is not None and owner.uid not in living:
                return f"{name_of(claim)} is there, and its pod is not"
        for pod in pods:
            fault = _wrong_volumes(pod, volume_claims) or _wrong_claims(pod, claims, templates)
            if fault:
                return f"{name_of(pod)}: {fault}"
        for claim in claims.values():
            fault = _wrong_claim(claim, living)
            if fault:
                return f"{name_of(claim)}: {fault}"
        return ""


def _devices() -> dict[str, Any]:
    return {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c.example.com"}}]}}


def _named(pod: Pod) -> dict[str, str]:
    """Return the pod's claims by entry."""
    claim_names = {
        entry.name: entry.resourceClaimName for entry in pod.spec.resourceClaims or () if entry.resourceClaimName
    }
    for status in (pod.status.resourceClaimStatuses if pod.status else None) or ():
        if status.resourceClaimName:
            claim_names[status.name] = status.resourceClaimName
    return claim_names


def _is_of(obj: Any, pod: Pod) -> bool:
    owner = controller_of(obj)
    return owner is not None and owner.uid == uid_of(pod)


def _wrong_volumes(pod: Pod, claims: dict[str, PersistentVolumeClaim]) -> str:
    """Return the deviations in order, up to the first claim with a foreign name."""
    for volume in pod.spec.volumes or ():
        if volume.ephemeral is None:
            continue
        claim = claims.get(f"{name_of(pod)}-{volume.name}")
        if claim is None:
            return f"volume {volume.name} has no claim"
        if not _is_of(claim, pod):
            return ""
    return ""


def _wrong_claims(pod: Pod, claims: dict[str, ResourceClaim], templates: set[str]) -> str:
    own = Counter(annotations_of(claim)[_ENTRY] for claim in claims.values() if _is_of(claim, pod))
    if is_finished(pod):
        return f"it has ended, and has claims for {sorted(own)}" if own else ""
    if any(count > 1 for count in own.values()):
        return f"more than one claim for an entry: {own}"
    named = _named(pod)
    templated = [entry for entry in pod.spec.resourceClaims or () if entry.resourceClaimTemplateName]
    without = [entry for entry in templated if named.get(entry.name) not in claims]
    foreign = [entry.name for entry in templated if entry not in without and not _is_of(claims[named[entry.name]], pod)]
    if foreign:
        return f"{foreign} are another's claims"
    if without and {entry.resourceClaimTemplateName for entry in without} <= templates:
        return f"{[entry.name for entry in without]} have no claims"
    for name in named.values() if node_of(pod) and not without else ():
        claim = claims.get(name)
        if claim is None or metadata_field(claim, "deletionTimestamp"):  # the API server permits no new reservation
            continue
        status = claim.status
        reserved = {consumer.uid for consumer in (status.reservedFor if status else None) or ()}
        if status is not None and status.allocation is not None and uid_of(pod) not in reserved:
            return f"{name} is not reserved for it"
    return ""


def _wrong_claim(claim: ResourceClaim, pods: dict[str, Pod]) -> str:
    status = claim.status
    reserved = [consumer.uid for consumer in (status.reservedFor if status else None) or ()]
    useless = [uid for uid in reserved if uid not in pods or is_finished(pods[uid])]
    if useless:
        return "it is reserved for pods that are gone or have ended"
    if status is not None and status.allocation is not None and not reserved:
        return "it is allocated without a consumer"
    return "it is still there" if metadata_field(claim, "deletionTimestamp") and not reserved else ""
