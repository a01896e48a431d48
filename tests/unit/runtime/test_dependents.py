"""Finding dependents in a cache."""

from __future__ import annotations

from lightkube.models.core_v1 import Pod
from lightkube.models.meta_v1 import ObjectMeta, OwnerReference

from steersman.client.store import Lister, Store
from steersman.runtime.dependents import candidates, controlled_by, index_dependents, orphans


class Informer:
    def __init__(self):
        self.store = Store()
        self.lister = Lister(self.store)
        self.add_index = self.store.add_index


def pod(name, *, namespace="ns", uid=""):
    owner = OwnerReference(apiVersion="v1", kind="K", name="k", uid=uid, controller=True)
    return Pod(metadata=ObjectMeta(name=name, namespace=namespace, ownerReferences=[owner] if uid else None))


def test_candidates_returns_own_dependents_and_orphans_only():
    informer = Informer()
    index_dependents(informer)
    index_dependents(informer)
    mine, other, orphan, far = pod("mine", uid="1"), pod("other", uid="2"), pod("orphan"), pod("far", namespace="else")
    for obj in (mine, other, orphan, far):
        informer.store.put(f"{obj.metadata.namespace}/{obj.metadata.name}", obj)
    owner = Pod(metadata=ObjectMeta(name="k", namespace="ns", uid="1"))
    assert controlled_by(informer.lister, "1") == [mine]
    assert orphans(informer.lister, "ns") == [orphan]
    assert candidates(informer.lister, owner) == [mine, orphan]
