"""Each rule by itself."""

from __future__ import annotations

from typing import Any

import pytest
from lightkube.models.storage_v1 import CSIDriver, CSINode, CSIStorageCapacity, VolumeAttachment
from tests.unit.scheduler.world import (
    World,
    claim,
    mounting,
    near,
    node,
    pod,
    required,
    storage_class,
    volume,
)

from steersman.apimachinery.selectors import parse_label_selector
from steersman.scheduler.brain import Placed


def reasons(text: str) -> str:
    return text.partition(": ")[2].partition(".")[0]


# Placement


@pytest.mark.parametrize(
    ("spec", "taint", "fits"),
    [
        ({}, {"key": "k", "effect": "NoSchedule"}, False),
        ({}, {"key": "k", "effect": "PreferNoSchedule"}, True),
        ({"tolerations": [{"operator": "Exists"}]}, {"key": "k", "effect": "NoExecute"}, True),
        ({"tolerations": [{"key": "k", "value": "v"}]}, {"key": "k", "value": "v", "effect": "NoSchedule"}, True),
        ({"tolerations": [{"key": "k", "value": "w"}]}, {"key": "k", "value": "v", "effect": "NoSchedule"}, False),
        ({"tolerations": [{"key": "k", "operator": "Gt", "value": "5"}]}, {"key": "k", "value": "7", "effect": "NoSchedule"}, True),
        ({"tolerations": [{"key": "k", "operator": "Lt", "value": "5"}]}, {"key": "k", "value": "7", "effect": "NoSchedule"}, False),
    ],
)  # fmt: skip
def test_taints_need_tolerations(spec: dict[str, Any], taint: dict[str, str], fits: bool) -> None:
    told = World(node("n", taints=[taint])).schedule(pod("p", **spec))
    assert told == "n" if fits else reasons(told) == "1 node(s) had untolerated taint(s)"


def test_a_node_to_be_avoided_is_the_last_resort() -> None:
    world = World(node("a", taints=[{"key": "k", "effect": "PreferNoSchedule"}]), node("b"))
    assert [world.schedule(pod(f"p{n}", cpu="1500m")) for n in range(2)] == ["b", "b"]
    assert world.schedule(pod("p", cpu="1500m")) == "a"


@pytest.mark.parametrize(
    ("operator", "values", "fits"),
    [("In", ["3"], True), ("NotIn", ["3"], False), ("Exists", [], True), ("DoesNotExist", [], False), ("Gt", ["2"], True), ("Lt", ["2"], False)],
)  # fmt: skip
def test_required_node_affinity(operator: str, values: list[str], fits: bool) -> None:
    terms = [{"matchExpressions": [{"key": "size", "operator": operator, "values": values}]}]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    told = World(node("n", labels={"size": "3"})).schedule(pod("p", affinity=affinity))
    assert told == "n" if fits else reasons(told) == "1 node(s) didn't match Pod's node affinity/selector"


def test_preferred_node_affinity_draws() -> None:
    preference = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
    affinity = {
        "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 50, "preference": preference}]}
    }
    world = World(node("a"), node("b", labels={"disk": "ssd"}), node("c"))
    assert [world.schedule(pod(f"p{n}", affinity=affinity)) for n in range(3)] == ["b"] * 3


@pytest.mark.parametrize(
    ("first", "second", "conflict"),
    [
        ({"hostPort": 80}, {"hostPort": 80}, True),
        ({"hostPort": 80}, {"hostPort": 80, "protocol": "UDP"}, False),
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, {"hostPort": 80, "hostIP": "10.0.0.2"}, False),
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, {"hostPort": 80}, True),
        ({"hostPort": 80}, {"hostPort": 80, "hostIP": "10.0.0.2"}, True),
    ],
)
def test_host_ports(first: dict[str, Any], second: dict[str, Any], conflict: bool) -> None:
    def using(name: str, port: dict[str, Any]) -> Any:
        return pod(name, containers=[{"name": "c", "ports": [{"containerPort": 1, **port}]}])

    world = World(node("n"))
    world.running("n", using("a", first))
    told = world.schedule(using("b", second))
    assert (reasons(told) == "1 node(s) didn't have free ports for the requested pod ports") is conflict


def test_nodes_that_have_the_image_are_liked() -> None:
    image = {"names": ["i:latest"], "sizeBytes": 900 << 20}
    world = World(node("a"), node("b", images=[image]), node("c"))
    assert world.schedule(pod("p")) == "b"


def test_extended_resources_are_counted() -> None:
    asks = {"containers": [{"name": "c", "resources": {"requests": {"example.com/gpu": "1"}}}]}
    world = World(node("plain"), node("gpu", allocatable={"example.com/gpu": "1"}))
    assert world.schedule(pod("a", **asks)) == "gpu"
    assert reasons(world.schedule(pod("b", **asks))) == "2 Insufficient example"


# Pods and pods

ZONES = [node(name, labels={"zone": zone}) for name, zone in (("a", "x"), ("b", "x"), ("c", "y"))]


def test_affinity_joins_pods_in_their_domain() -> None:
    world = World(*ZONES)
    world.running("c", pod("db", labels={"app": "db"}))
    assert world.schedule(pod("web", affinity=required("podAffinity", near({"app": "db"}, "zone")))) == "c"


def test_affinity_without_a_partner_waits_unless_the_pod_is_its_own() -> None:
    world = World(*ZONES)
    term = near({"app": "db"}, "zone")
    assert reasons(world.schedule(pod("web", affinity=required("podAffinity", term)))) == (
        "3 node(s) didn't match pod affinity rules"
    )
    first = world.schedule(pod("db", labels={"app": "db"}, affinity=required("podAffinity", term)))
    assert first in {"a", "b", "c"}


def test_affinity_looks_into_its_own_namespace_unless_told() -> None:
    world = World(*ZONES)
    world.brain.cluster.namespaces["other"] = {"team": "t"}
    world.running("c", pod("db", namespace="other", labels={"app": "db"}))
    term = near({"app": "db"}, "zone")
    assert "affinity rules" in world.schedule(pod("p", affinity=required("podAffinity", term)))
    named = required("podAffinity", {**term, "namespaces": ["other"]})
    chosen = required("podAffinity", {**term, "namespaceSelector": {"matchLabels": {"team": "t"}}})
    assert world.schedule(pod("q", affinity=named)) == "c"
    assert world.schedule(pod("r", affinity=chosen)) == "c"


def test_anti_affinity_holds_both_ways() -> None:
    loner = required("podAntiAffinity", near({"app": "noisy"}))
    world = World(node("n"))
    world.running("n", pod("quiet", affinity=loner))
    told = world.schedule(pod("loud", labels={"app": "noisy"}))
    assert reasons(told) == "1 node(s) didn't satisfy existing pods anti-affinity rules"
    world = World(node("n"))
    world.running("n", pod("loud", labels={"app": "noisy"}))
    assert reasons(world.schedule(pod("quiet", affinity=loner))) == "1 node(s) didn't match pod anti-affinity rules"


def test_preemption_sees_whom_anti_affinity_lets_in() -> None:
    world = World(node("n"))
    world.running("n", pod("loud", labels={"app": "noisy"}))
    failed = world.fail(pod("quiet", priority=5, affinity=required("podAntiAffinity", near({"app": "noisy"}))))
    assert failed.victims is not None
    assert [victim.name for victim in failed.victims.pods] == ["loud"]


def test_preferred_affinity_draws_and_repels() -> None:
    def wish(kind: str) -> dict[str, Any]:
        terms = [{"weight": 100, "podAffinityTerm": near({"app": "db"}, "zone")}]
        return {kind: {"preferredDuringSchedulingIgnoredDuringExecution": terms}}

    world = World(*ZONES)
    world.running("c", pod("db", labels={"app": "db"}))
    assert world.schedule(pod("near", affinity=wish("podAffinity"))) == "c"
    assert world.schedule(pod("far", affinity=wish("podAntiAffinity"))) in {"a", "b"}


# Spread


def spread(key: str = "zone", **rest: Any) -> list[dict[str, Any]]:
    selector = {"matchLabels": {"app": "s"}}
    return [{"topologyKey": key, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector, **rest}]


def test_pods_go_where_there_are_fewest() -> None:
    world = World(*ZONES)
    placed = [world.schedule(pod(f"p{n}", labels={"app": "s"}, topologySpreadConstraints=spread())) for n in range(4)]
    assert sorted("y" if name == "c" else "x" for name in placed) == ["x", "x", "y", "y"]


def test_a_full_domain_keeps_the_others_waiting() -> None:
    world = World(node("a", labels={"zone": "x"}), node("b", labels={"zone": "y"}, pods="1"))
    made = [pod(f"p{n}", labels={"app": "s"}, topologySpreadConstraints=spread()) for n in range(4)]
    told = [world.schedule(each) for each in made]
    assert reasons(told[3]) == "1 Too many pods, 1 node(s) didn't match pod topology spread constraints"


def test_too_few_domains_count_as_empty() -> None:
    world = World(node("a", labels={"zone": "x"}))
    wish = {"labels": {"app": "s"}, "topologySpreadConstraints": spread(minDomains=2)}
    assert world.schedule(pod("p0", **wish)) == "a"
    assert reasons(world.schedule(pod("p1", **wish))) == "1 node(s) didn't match pod topology spread constraints"


def test_nodes_without_the_label_are_none() -> None:
    told = World(node("a")).schedule(pod("p", labels={"app": "s"}, topologySpreadConstraints=spread()))
    assert reasons(told) == "1 node(s) didn't match pod topology spread constraints (missing required label)"


def test_pods_of_a_workload_are_spread_over_hosts_by_default() -> None:
    world = World(*(node(name, cpu="64", memory="256Gi") for name in "abcd"))
    world.brain.workloads.set_owner("rs", parse_label_selector("app=s"))
    placed = [world.schedule(pod(f"p{n}", owner="rs", labels={"app": "s"})) for n in range(4)]
    assert sorted(placed) == ["a", "b", "c", "d"]


def test_a_service_makes_a_workload_too() -> None:
    world = World(*(node(name, cpu="64", memory="256Gi") for name in "ab"))
    world.brain.workloads.set_service("default", "svc", {"app": "s"})
    assert sorted(world.schedule(pod(f"p{n}", labels={"app": "s"})) for n in range(2)) == ["a", "b"]


# Volumes


def stored(world: World, *objects: Any) -> World:
    catalog = world.brain.catalog
    tables = {
        "PersistentVolume": catalog.volumes,
        "PersistentVolumeClaim": catalog.claims,
        "StorageClass": catalog.classes,
        "CSINode": catalog.csi_nodes,
    }
    for each in objects:
        namespace = f"{each.metadata.namespace}/" if each.metadata.namespace else ""
        tables[type(each).__name__][f"{namespace}{each.metadata.name}"] = each
    return world


def test_a_bound_volume_draws_the_pod_to_its_node() -> None:
    world = stored(World(*ZONES), claim("data", volumeName="v"), volume("v", zone="y"))
    assert world.schedule(pod("p", volumes=mounting("data"))) == "c"


@pytest.mark.parametrize(
    ("objects", "text"),
    [
        ([], 'persistentvolumeclaim "data" not found'),
        ([claim("data")], "pod has unbound immediate PersistentVolumeClaims"),
    ],
)
def test_claims_that_cannot_be_used_block_the_pod(objects: list[Any], text: str) -> None:
    told = stored(World(node("n")), *objects).schedule(pod("p", volumes=mounting("data")))
    assert told == f"0/1 nodes are available: {text}. not found"


def test_a_bound_claim_without_its_volume_fits_no_node() -> None:
    told = stored(World(node("n")), claim("data", volumeName="v")).schedule(pod("p", volumes=mounting("data")))
    assert reasons(told) == "1 node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"


def waiting(*volumes: Any, provisioner: str = "kubernetes.io/no-provisioner") -> World:
    return stored(
        World(*ZONES),
        storage_class("slow", provisioner=provisioner),
        claim("data", storageClassName="slow"),
        *volumes,
    )


def test_a_claim_that_waits_gets_the_smallest_volume_of_the_node() -> None:
    world = waiting(
        volume("big", size="9Gi", zone="y"), volume("fit", size="2Gi", zone="y"), volume("tiny", size="1Mi")
    )
    world.add(pod("p", volumes=mounting("data")))
    placed = world.attempt()
    assert isinstance(placed, Placed)
    assert placed.node == "c"
    assert [found.metadata.name for _, found in placed.volumes.static] == ["fit"]


def test_a_volume_is_promised_once() -> None:
    world = stored(waiting(volume("v", zone="y")), claim("more", storageClassName="slow"))
    world.add(pod("a", volumes=mounting("data")), pod("b", volumes=mounting("more")))
    assert isinstance(world.attempt(), Placed)
    second = world.attempt()
    assert second is not None
    assert reasons(getattr(second, "message", "")) == "3 node(s) didn't find available persistent volumes to bind"


def test_a_provisioner_makes_what_is_missing() -> None:
    world = waiting(provisioner="example.com/disks")
    world.add(pod("p", volumes=mounting("data")))
    placed = world.attempt()
    assert isinstance(placed, Placed)
    assert [each.metadata.name for each in placed.volumes.provision] == ["data"]


def test_an_exclusive_claim_serves_one_pod() -> None:
    world = stored(
        World(node("a"), node("b")), claim("data", volumeName="v", accessModes=["ReadWriteOncePod"]), volume("v")
    )
    world.running("a", pod("first", volumes=mounting("data")))
    assert reasons(world.schedule(pod("second", volumes=mounting("data")))) == (
        "2 node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
    )


def test_disks_are_attached_once_unless_they_are_only_read() -> None:
    def disk(**rest: Any) -> dict[str, Any]:
        return {"volumes": [{"name": "d", "gcePersistentDisk": {"pdName": "x", **rest}}]}

    world = World(node("n"))
    world.running("n", pod("a", **disk(readOnly=True)))
    assert world.schedule(pod("b", **disk(readOnly=True))) == "n"
    assert reasons(world.schedule(pod("c", **disk()))) == "1 node(s) had no available disk"


def test_volumes_stay_in_their_zone() -> None:
    zone = "topology.kubernetes.io/zone"
    world = stored(
        World(node("a", labels={zone: "x"}), node("b", labels={zone: "y"})),
        claim("data", volumeName="v"),
        volume("v", labels={zone: "y"}),
    )
    assert world.schedule(pod("p", volumes=mounting("data"))) == "b"


def test_a_driver_attaches_no_more_volumes_than_it_says() -> None:
    driver = {"name": "d", "nodeID": "n", "allocatable": {"count": 1}}
    limits = CSINode.from_dict({"metadata": {"name": "n"}, "spec": {"drivers": [driver]}})

    def csi(name: str) -> Any:
        return volume(name, csi={"driver": "d", "volumeHandle": name})

    world = stored(
        World(node("n")), limits, csi("v1"), csi("v2"), claim("c1", volumeName="v1"), claim("c2", volumeName="v2")
    )
    world.running("n", pod("a", volumes=mounting("c1")))
    assert reasons(world.schedule(pod("b", volumes=mounting("c2")))) == "1 node(s) exceed max volume count"
    assert world.schedule(pod("c", volumes=mounting("c1"))) == "n"


def test_terminating_pods_are_stayed_away_from_and_those_of_other_namespaces_by_selector() -> None:
    world = World(node("n0"), node("n1"))
    world.running("n0", pod("r", labels={"app": "x"}, deletionTimestamp="2026-01-01T00:00:00Z"))
    alone = required("podAntiAffinity", near({"app": "x"}))
    assert world.schedule(pod("p", affinity=alone)) == "n1"
    world = World(node("n0"), node("n1"))
    world.running("n0", pod("r", labels={"app": "x"}, namespace="other"))
    assert (
        world.schedule(pod("p", affinity=required("podAntiAffinity", near({"app": "x"}, namespaceSelector={})))) == "n1"
    )


def test_volumes_are_made_where_their_driver_has_room() -> None:
    def capacity(name: str, zone: str, size: str) -> CSIStorageCapacity:
        tree = {"metadata": {"name": name}, "storageClassName": "fast", "capacity": size}
        return CSIStorageCapacity.from_dict({**tree, "nodeTopology": {"matchLabels": {"zone": zone}}})

    world = World(node("a", labels={"zone": "a"}), node("b", labels={"zone": "b"}))
    catalog = world.brain.catalog
    catalog.classes["fast"] = storage_class("fast", provisioner="csi.example.com")
    catalog.claims["default/c"] = claim("c", storageClassName="fast")
    made = pod("p", volumes=mounting("c"))
    driver = {"metadata": {"name": "csi.example.com"}, "spec": {"storageCapacity": True}}
    catalog.csi_drivers["csi.example.com"] = CSIDriver.from_dict(driver)
    catalog.capacities["x"] = capacity("x", "a", "512Mi")
    assert reasons(world.schedule(made)) == "2 node(s) did not have enough free storage"
    catalog.capacities["y"] = capacity("y", "b", "2Gi")
    assert world.schedule(pod("q", volumes=mounting("c"))) == "b"


def test_what_is_attached_counts_though_no_pod_uses_it() -> None:
    csi = {"driver": "csi.example.com", "volumeHandle": "h"}
    world = World(node("n"), node("m"))
    for name in ("old", "new"):
        world.brain.catalog.volumes[name] = volume(name, csi={**csi, "volumeHandle": name})
    world.brain.catalog.claims["default/c"] = claim("c", volumeName="new", storageClassName="slow")
    for name in "nm":
        drivers = [{"name": "csi.example.com", "nodeID": name, "allocatable": {"count": 1}}]
        made = CSINode.from_dict({"metadata": {"name": name}, "spec": {"drivers": drivers}})
        world.brain.catalog.csi_nodes[name] = made
    spec = {"attacher": "csi.example.com", "nodeName": "n", "source": {"persistentVolumeName": "old"}}
    world.brain.catalog.attachments["a"] = VolumeAttachment.from_dict({"metadata": {"name": "a"}, "spec": spec})
    assert world.schedule(pod("p", volumes=mounting("c"))) == "m"
    (spec["nodeName"], spec["source"]) = ("m", {"persistentVolumeName": "new"})
    world.brain.catalog.attachments["b"] = VolumeAttachment.from_dict({"metadata": {"name": "b"}, "spec": spec})
    assert world.schedule(pod("q", volumes=mounting("c"))) == "m"  # it is attached there already


@pytest.mark.parametrize(
    ("spec", "feature"),
    [
        ({"containers": [{"name": "c", "restartPolicyRules": [{"action": "RestartAllContainers"}]}]}, "RestartAllContainersOnContainerExits"),
        ({"hostNetwork": True, "hostUsers": False}, "UserNamespacesHostNetworkSupport"),
    ],
)  # fmt: skip
def test_pods_go_where_nodes_declare_what_they_need(spec: dict[str, Any], feature: str) -> None:
    able, unable = node("able"), node("unable")
    able.status.declaredFeatures = [feature]  # type: ignore[union-attr]
    told = World(unable).schedule(pod("p", **spec))
    assert reasons(told) == f"1 node declared features check failed - unsatisfied requirements: {feature}"
    assert World(unable, able).schedule(pod("p", **spec)) == "able"


@pytest.mark.parametrize(
    ("policies", "spec", "fits"),
    [
        ({}, {}, False),
        ({"nodeTaintsPolicy": "Honor"}, {}, True),
        ({"nodeTaintsPolicy": "Honor"}, {"tolerations": [{"operator": "Exists"}]}, True),
        ({}, {"nodeSelector": {"zone": "a"}}, True),
        ({"nodeAffinityPolicy": "Ignore"}, {"nodeSelector": {"zone": "a"}}, False),
    ],
)
def test_nodes_that_a_pod_may_not_use_count_as_it_says(
    policies: dict[str, str], spec: dict[str, Any], *, fits: bool
) -> None:
    """KEP-3094: by default nodes that affinity leaves out are no domain, and tainted ones are."""
    world = World(
        node("a", labels={"zone": "a"}), node("b", labels={"zone": "b"}, taints=[{"key": "k", "effect": "NoSchedule"}])
    )  # fmt: skip
    world.running("a", pod("first", labels={"app": "x"}))
    constraint = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", **policies}
    constraint["labelSelector"] = {"matchLabels": {"app": "x"}}
    told = world.schedule(pod("p", labels={"app": "x"}, topologySpreadConstraints=[constraint], **spec))
    assert (told in ("a", "b")) is fits
    if not fits:
        assert "1 node(s) didn't match pod topology spread constraints" in told


def test_a_disk_of_one_cluster_of_ceph_is_known_by_any_monitor() -> None:
    def disk(*monitors: str) -> dict[str, Any]:
        return {"volumes": [{"name": "d", "rbd": {"monitors": list(monitors), "image": "i"}}]}

    world = World(node("n"))
    world.running("n", pod("a", **disk("m1", "m2")))
    assert reasons(world.schedule(pod("b", **disk("m2", "m3")))) == "1 node(s) had no available disk"
    assert world.schedule(pod("c", **disk("m4"))) == "n"
