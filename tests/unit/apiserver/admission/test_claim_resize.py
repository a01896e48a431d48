from __future__ import annotations

import pytest
from tests.unit.apiserver.admission.plugged import Plugged, refusal

from steersman.apiserver.admission.claim_resize import PersistentVolumeClaimResize

CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
NOT_EXPANDABLE = (
    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"
)


def resizing():
    return Plugged(lambda stored: PersistentVolumeClaimResize(stored("storageclasses.storage.k8s.io").cache))


async def bound(server, name):
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": name}
    await server.make(CLAIMS, spec={**spec, "volumeName": "v"})
    await server.merge(f"{CLAIMS}/a/status", {"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}})


def size(text):
    return {"spec": {"resources": {"requests": {"storage": text}}}}


@pytest.mark.parametrize(("expands", "code"), [(True, 200), (False, 403), (None, 403)])
async def test_expansion_requires_the_class_to_allow_it(expands, code):
    async with resizing() as server:
        await server.make(CLASSES, metadata={"name": "s"}, provisioner="p", allowVolumeExpansion=expands)
        await bound(server, "s")
        assert (await server.merge(f"{CLAIMS}/a", size("2Gi"))).code == code


@pytest.mark.parametrize("name", ["", "missing"])
async def test_expansion_is_rejected_without_a_class(name):
    async with resizing() as server:
        await bound(server, name)
        assert refusal(await server.merge(f"{CLAIMS}/a", size("2Gi"))) == NOT_EXPANDABLE


async def test_other_updates_are_allowed():
    async with resizing() as server:
        await bound(server, "missing")
        assert (await server.merge(f"{CLAIMS}/a", {"metadata": {"labels": {"a": "b"}}, **size("1024Mi")})).code == 200
