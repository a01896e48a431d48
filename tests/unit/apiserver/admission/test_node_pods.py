from __future__ import annotations

import pytest
from tests.unit.apiserver.writing import Server

from steersman.apiserver.admission.interface import Attributes, Operation
from steersman.apiserver.admission.node_pods import check_mirror_pod, owner_uid

OWNER = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u", "controller": True}


async def attributes(pod):
    async with Server() as server:
        served = server.registry.get("", "v1", "pods")
        return Attributes(Operation.CREATE, served, server.context("pods"), name="a", obj=pod)


def mirror(owners, **spec):
    annotations = {"kubernetes.io/config.mirror": "x"}
    metadata = {"name": "a", "annotations": annotations, "ownerReferences": owners}
    return {"metadata": metadata, "spec": {"nodeName": "n", **spec}}


async def test_mirror_pod_must_be_owned_by_its_node():
    pod = mirror([OWNER])
    assert owner_uid("n", await attributes(pod), pod) == "u"


async def test_mirror_pod_must_have_one_owner():
    pod = mirror([OWNER, OWNER])
    with pytest.raises(Exception, match="a single owner reference set to itself"):
        owner_uid("n", await attributes(pod), pod)


async def test_mirror_pod_cannot_reference_trust_bundles():
    pod = mirror([], volumes=[{"name": "v", "projected": {"sources": [{"clusterTrustBundle": {"path": "p"}}]}}])
    with pytest.raises(Exception, match="can not create pods that reference clustertrustbundles"):
        check_mirror_pod("n", await attributes(pod), pod)
