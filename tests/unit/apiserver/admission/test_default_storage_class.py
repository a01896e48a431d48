from __future__ import annotations

import pytest
from tests.unit.apiserver.admission.plugged import Plugged

from steersman.apiserver.admission.default_storage_class import DefaultStorageClass

CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
DEFAULT = {"storageclass.kubernetes.io/is-default-class": "true"}


def classed():
    return Plugged(lambda stored: DefaultStorageClass(stored("storageclasses.storage.k8s.io").cache))


async def claim(server, metadata=None, **spec):
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}
    return (await server.make(CLAIMS, metadata=metadata or {}, spec=spec))["spec"].get("storageClassName")


async def add(server, name, annotations=None):
    await server.make(CLASSES, metadata={"name": name, "annotations": annotations or {}}, provisioner="p.example.com")


async def test_claim_without_a_class_gets_the_default():
    async with classed() as server:
        await add(server, "other")
        await add(server, "usual", DEFAULT)
        assert await claim(server) == "usual"


async def test_newest_default_class_is_set_then_first_by_name():
    async with classed() as server:
        await add(server, "old", DEFAULT)
        await server.clock.advance(10)
        await add(server, "z", {"storageclass.beta.kubernetes.io/is-default-class": "true"})
        await add(server, "y", DEFAULT)
        assert await claim(server) == "y"


@pytest.mark.parametrize("name", ["", "mine"])
async def test_explicit_class_is_kept(name):
    async with classed() as server:
        await add(server, "usual", DEFAULT)
        assert await claim(server, storageClassName=name) == name


async def test_class_in_the_legacy_annotation_is_kept():
    async with classed() as server:
        await add(server, "usual", DEFAULT)
        annotations = {"volume.beta.kubernetes.io/storage-class": "mine"}
        assert await claim(server, {"annotations": annotations}) is None


async def test_class_is_unset_without_a_default():
    async with classed() as server:
        await add(server, "other", {"storageclass.kubernetes.io/is-default-class": "false"})
        assert await claim(server) is None
