"""Writes of finalizers: based on the cached version, and recorded as own writes."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
from lightkube.models.core_v1 import PersistentVolumeClaim

from steersman.client import tree
from steersman.client.errors import Conflict
from steersman.controllers.protection.finalizing import add, remove_finalizer
from steersman.controllers.shared.base import ManagedController
from steersman.runtime.structs import with_metadata

CLAIM = tree("v1", "PersistentVolumeClaim")
KEY = "default/data"
FINALIZER = "example.com/held"


class Protecting(ManagedController):
    """Controller of claims whose writes the tests make."""

    name = "protecting"

    def __init__(self, context):
        super().__init__(context)
        self.claims = self.informer(PersistentVolumeClaim)

    async def reconcile(self, key):
        """Do nothing."""


@pytest.fixture
async def controller(cluster):
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    await cluster.make("v1", "PersistentVolumeClaim", "data", namespace="default", spec=spec)
    return await cluster.start(Protecting)


def cached(controller):
    return controller.claims.lister.by_key(KEY)


async def finalizers(cluster):
    return (await cluster.client.get(CLAIM, "data", namespace="default"))["metadata"].get("finalizers", [])


async def test_add_and_remove_finalizer_record_their_writes(cluster, controller):
    before = await finalizers(cluster)
    await add(controller, KEY, controller.claims, cached(controller), FINALIZER)
    await controller.own_writes.await_seen(KEY)
    assert cached(controller).metadata.finalizers == [*before, FINALIZER]
    await remove_finalizer(controller, KEY, controller.claims, cached(controller), FINALIZER)
    await controller.own_writes.await_seen(KEY)
    assert await finalizers(cluster) == before


async def test_add_conflicts_with_a_newer_version(cluster, controller):
    outdated = cached(controller)
    await cluster.client.patch(CLAIM, "data", {"metadata": {"labels": {"a": "b"}}}, namespace="default")
    with pytest.raises(Conflict):
        await add(controller, KEY, controller.claims, outdated, FINALIZER)
    assert FINALIZER not in await finalizers(cluster)


@pytest.mark.parametrize("has_uid", [True, False])
async def test_remove_finalizer_of_a_deleted_object_writes_nothing(cluster, controller, has_uid):
    """A UID is a precondition, which the server reports as a conflict; without one the object is not found."""
    claim = cached(controller)
    claim = claim if has_uid else with_metadata(claim, uid=None)
    await cluster.client.patch(CLAIM, "data", {"metadata": {"finalizers": None}}, namespace="default")
    await cluster.client.delete(CLAIM, "data", namespace="default")
    with pytest.raises(Conflict) if has_uid else nullcontext():
        await remove_finalizer(controller, KEY, controller.claims, claim, FINALIZER)
    assert await cluster.find("v1", "PersistentVolumeClaim", "data", namespace="default") is None
