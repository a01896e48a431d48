import msgspec
import pytest
from lightkube.models.core_v1 import PersistentVolume, PersistentVolumeClaim

from steersman.controllers.volumeexpander.controller import build
from steersman.controllers.volumeexpander.plan import asks_for_more, event_type, is_bound_to, volume_to_expand

CLAIM = ("v1", "PersistentVolumeClaim")
CLASS = {"provisioner": "example.com/p", "allowVolumeExpansion": True}


def claim(requested, has, *, phase="Bound", volume="v"):
    spec = {"resources": {"requests": {"storage": requested}}, "volumeName": volume}
    body = {
        "metadata": {"name": "c", "uid": "1"},
        "spec": spec,
        "status": {"phase": phase, "capacity": {"storage": has}},
    }
    return msgspec.convert(body, PersistentVolumeClaim)


@pytest.mark.parametrize(
    ("obj", "expected"),
    [(claim("2Gi", "1Gi"), "v"), (claim("1Gi", "1024Mi"), ""), (claim("2Gi", "1Gi", phase="Pending"), "")],
)
def test_bound_claim_may_request_expansion(obj, expected):
    assert volume_to_expand(obj) == expected


def test_growth_is_handled_once():
    assert asks_for_more(claim("1Gi", "1Gi"), claim("2Gi", "1Gi"))
    assert not asks_for_more(claim("2Gi", "1Gi"), claim("2Gi", "1Gi"))


def test_volume_must_be_bound_to_the_claim():
    assert is_bound_to(msgspec.convert({"spec": {"claimRef": {"uid": "1"}}}, PersistentVolume), claim("1Gi", "1Gi"))
    assert not is_bound_to(msgspec.convert({"spec": {}}, PersistentVolume), claim("1Gi", "1Gi"))
    assert not is_bound_to(None, claim("1Gi", "1Gi"))


@pytest.mark.parametrize(
    ("source", "expected"),
    [({"csi": {"driver": "d", "volumeHandle": "h"}}, "Normal"), ({"hostPath": {"path": "/x"}}, "Warning")],
)
def test_event_type_warns_without_csi_driver(source, expected):
    assert event_type(msgspec.convert({"spec": source}, PersistentVolume)) == expected


@pytest.mark.parametrize("volume_comes_last", [False, True])
async def test_event_names_the_expanding_component(cluster, volume_comes_last):
    await cluster.start(build)
    await cluster.make("storage.k8s.io/v1", "StorageClass", "s", **CLASS)
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "s"}
    created = await cluster.make(*CLAIM, "c", namespace="default", spec={**spec, "volumeName": "v"})
    volume = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "storageClassName": "s",
              "csi": {"driver": "d.example.com", "volumeHandle": "h"},
              "claimRef": {"namespace": "default", "name": "c", "uid": created["metadata"]["uid"]}}  # fmt: skip
    if not volume_comes_last:
        await cluster.make("v1", "PersistentVolume", "v", spec=volume)
    bound = await cluster.client.update_status(
        {**created, "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}}
    )
    bound["spec"]["resources"] = {"requests": {"storage": "2Gi"}}
    await cluster.client.update(bound)
    await cluster.clock.advance(1)
    if volume_comes_last:
        assert await cluster.events("ExternalExpanding") == []
        await cluster.make("v1", "PersistentVolume", "v", spec=volume)
    events = await cluster.until(lambda: cluster.events("ExternalExpanding"))
    assert (events[0]["source"]["component"], events[0]["type"]) == ("volume_expand", "Normal")
