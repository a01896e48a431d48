from __future__ import annotations

import pytest
from tests.unit.apiserver.admission.plugged import Plugged

from steersman.apiserver.admission.storage_protection import StorageObjectInUseProtection

CLAIM = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
VOLUME = {
    "spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/x"}},
}
KINDS = [
    ("/api/v1/namespaces/default/persistentvolumeclaims", CLAIM, "kubernetes.io/pvc-protection"),
    ("/api/v1/persistentvolumes", VOLUME, "kubernetes.io/pv-protection"),
    (
        "/apis/storage.k8s.io/v1/volumeattributesclasses",
        {"driverName": "d.example.com", "parameters": {"a": "b"}},
        "kubernetes.io/vac-protection",
    ),
]


@pytest.mark.parametrize(("path", "parts", "finalizer"), KINDS)
async def test_new_storage_objects_get_the_finalizer(path, parts, finalizer):
    async with Plugged(lambda _: StorageObjectInUseProtection()) as server:
        assert (await server.make(path, **parts))["metadata"]["finalizers"] == [finalizer]
        more = {"name": "b", "finalizers": ["example.com/x", finalizer]}
        assert (await server.make(path, metadata=more, **parts))["metadata"]["finalizers"] == more["finalizers"]


async def test_finalizer_can_be_removed():
    path, parts, _ = KINDS[0]
    async with Plugged(lambda _: StorageObjectInUseProtection()) as server:
        await server.make(path, **parts)
        changed = await server.merge(f"{path}/a", {"metadata": {"finalizers": None}})
        assert "finalizers" not in changed.body["metadata"]
