"""Keeping ControllerRevisions."""

from __future__ import annotations

import pytest
from lightkube.models.apps_v1 import ControllerRevision, DaemonSet
from lightkube.models.meta_v1 import ObjectMeta

from steersman.apimachinery.errors import is_conflict
from steersman.apimachinery.selectors import from_label_selector
from steersman.client.errors import ApiError
from steersman.client.objects import name_of
from steersman.controllers.shared.base import CREATED_RECHECK_SECONDS, ManagedController
from steersman.controllers.shared.revision_control import RevisionControl
from steersman.runtime.owners import controller_of
from steersman.workloads.revisions import data_hash, template_data

EVERYTHING = from_label_selector({"matchLabels": {"app": "x"}})


class Owner(ManagedController):
    """Does nothing by itself."""

    name = "owner"

    def __init__(self, context):
        super().__init__(context)
        self.keys = []
        self.revisions = RevisionControl(
            self, DaemonSet, hash_label="hash", hashed=lambda template, tried: data_hash(template_data(template), tried)
        )

    async def reconcile(self, key):
        self.keys.append(key)


@pytest.fixture
async def control(cluster):
    return (await cluster.start(Owner)).revisions


async def daemon(cluster, name="ds"):
    template = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"app": "x"}}, "template": template}
    await cluster.make("apps/v1", "DaemonSet", name, namespace="default", spec=spec)
    return await cluster.client.get(DaemonSet, name, namespace="default")


async def claimed(cluster, control, ds, count=1):
    await cluster.until(lambda: len(control.informer.lister) == count)
    return await control.claim(ds, EVERYTHING)


async def test_settle_creates_one_revision_per_template(cluster, control):
    ds = await daemon(cluster)
    first = await control.settle("k", ds, [], collisions=0)
    again = await control.settle("k", ds, [], collisions=0)  # the cache is late
    assert name_of(first.revision) == name_of(again.revision)
    existing = await control.settle("k", ds, await claimed(cluster, control, ds), collisions=0)
    assert (name_of(existing.revision), existing.revision.revision, existing.collisions) == (
        name_of(first.revision),
        1,
        0,
    )


async def test_settle_requeues_after_a_creation(cluster):
    """A deletion that a disconnected cache has not seen leaves no event."""
    owner = await cluster.start(Owner)
    await owner.revisions.settle("k", await daemon(cluster), [], collisions=0)
    await cluster.clock.advance(CREATED_RECHECK_SECONDS)
    assert owner.keys == ["k"]


@pytest.mark.parametrize("releases", [False, True])
async def test_claim_releases_a_relabeled_revision_when_asked(cluster, control, releases):
    ds = await daemon(cluster)
    name = name_of((await control.settle("k", ds, [], collisions=0)).revision)
    patch = {"metadata": {"labels": {"app": None}}}
    relabeled = await cluster.client.patch(ControllerRevision, name, patch, namespace="default")
    await control.informer.wait_seen(relabeled, timeout_seconds=5)
    assert await control.claim(ds, EVERYTHING, releases=releases) == []
    live = await cluster.client.get(ControllerRevision, name, namespace="default")
    assert (controller_of(live) is None) == releases


async def test_with_hash_labels_restores_a_removed_label_by_the_name(cluster, control):
    ds = await daemon(cluster)
    first = (await control.settle("k", ds, [], collisions=0)).revision
    patch = {"metadata": {"labels": {"hash": None}}}
    unlabeled = await cluster.client.patch(ControllerRevision, name_of(first), patch, namespace="default")
    (restored,) = await control.with_hash_labels("k", [unlabeled])
    assert restored.metadata.labels == {"app": "x", "hash": name_of(first)}
    assert await control.with_hash_labels("k", [restored]) == [restored]


async def test_rollback_raises_the_revision_number(cluster, control):
    ds = await daemon(cluster)
    one = (await control.settle("k", ds, [], collisions=0)).revision
    patch = {"spec": {"template": {"metadata": {"labels": {"v": "2"}}}}}
    newer = await cluster.client.patch(DaemonSet, "ds", patch, namespace="default")
    two = (await control.settle("k", newer, [one], collisions=0)).revision
    back = (await control.settle("k", ds, [one, two], collisions=0)).revision
    assert (two.revision, back.revision, name_of(back)) == (2, 3, name_of(one))


async def test_settle_counts_a_collision_when_the_name_is_in_use(cluster, control):
    ds = await daemon(cluster)
    first = (await control.settle("k", ds, [], collisions=0)).revision
    patch = {"metadata": {"ownerReferences": [{**controller_of(first).tree(), "kind": "Other", "uid": "other"}]}}
    await cluster.client.patch(ControllerRevision, name_of(first), patch, namespace="default")
    second = await control.settle("k", ds, [], collisions=0)
    assert name_of(second.revision) != name_of(first)
    assert second.collisions == 1
    assert second.revision.metadata.labels["hash"] == name_of(second.revision).removeprefix("ds-")


async def test_settle_keeps_the_hash_label_on_collisions_when_configured(cluster):
    owner = await cluster.start(Owner)
    control = RevisionControl(
        owner, DaemonSet, hash_label="hash", hashed=lambda _, tried: f"hash-{tried}", keeps_hash_label=True
    )
    ds = await daemon(cluster)
    await cluster.client.create(
        ControllerRevision(metadata=ObjectMeta(name="ds-hash-0", namespace="default"), revision=1, data={"other": 1})
    )
    settled = await control.settle("k", ds, [], collisions=0)
    assert (name_of(settled.revision), settled.revision.metadata.labels["hash"]) == ("ds-hash-1", "hash-0")
    assert settled.collisions == 1


async def test_settle_raises_while_an_earlier_owner_controls_the_revision(cluster, control):
    ds = await daemon(cluster)
    first = (await control.settle("k", ds, [], collisions=0)).revision
    patch = {"metadata": {"ownerReferences": [{**controller_of(first).tree(), "uid": "before"}]}}
    await cluster.client.patch(ControllerRevision, name_of(first), patch, namespace="default")
    with pytest.raises(Exception, match="still belongs"):
        await control.settle("k", ds, [], collisions=0)
    await cluster.client.patch(
        ControllerRevision, name_of(first), {"metadata": {"ownerReferences": None}}, namespace="default"
    )
    assert name_of((await control.settle("k", ds, [], collisions=0)).revision) == name_of(first)


async def test_delete_ignores_missing_revisions(cluster, control):
    ds = await daemon(cluster)
    first = (await control.settle("k", ds, [], collisions=0)).revision
    await control.delete([first])
    await control.delete([first])
    assert await cluster.client.list(ControllerRevision, namespace="default") == []


async def test_delete_leaves_another_revision_of_the_same_name(cluster, control):
    ds = await daemon(cluster)
    first = (await control.settle("k", ds, [], collisions=0)).revision
    await control.delete([first])
    second = (await control.settle("k", ds, [], collisions=0)).revision
    await control.delete([first])
    assert [name_of(controller_revision) for controller_revision in await cluster.client.list(ControllerRevision)] == [
        name_of(second)
    ]


async def test_delete_raises_a_conflict_while_the_revision_exists(cluster, control, conflicts):
    first = (await control.settle("k", await daemon(cluster), [], collisions=0)).revision
    conflicts.add("DELETE", name_of(first))
    with pytest.raises(ApiError) as raised:
        await control.delete([first])
    assert is_conflict(raised.value)
