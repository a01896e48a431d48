"""Filter and score plugins one by one."""

from __future__ import annotations

from typing import Any

import pytest
from lightkube.models.storage_v1 import CSIDriver, CSINode, CSIStorageCapacity, VolumeAttachment
from tests.unit.scheduler.world import (
    World,
    at,
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
from steersman.scheduler.core import AssumedPod


def reasons(text: str) -> str:
    return text.partition(": ")[2].partition(".")[0]


# Nodes


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
def test_taint_toleration_filters_untolerated_taints(spec: dict[str, Any], taint: dict[str, str], fits: bool) -> None:
    result = World(node("n", taints=[taint])).schedule(pod("p", **spec))
    assert result == "n" if fits else reasons(result) == "1 node(s) had untolerated taint(s)"


def test_prefer_no_schedule_node_is_selected_last() -> None:
    world = World(node("a", taints=[{"key": "k", "effect": "PreferNoSchedule"}]), node("b"))
    assert [world.schedule(pod(f"p{n}", cpu="1500m")) for n in range(2)] == ["b", "b"]
    assert world.schedule(pod("p", cpu="1500m")) == "a"


@pytest.mark.parametrize(
    ("operator", "values", "fits"),
    [("In", ["3"], True), ("NotIn", ["3"], False), ("Exists", [], True), ("DoesNotExist", [], False), ("Gt", ["2"], True), ("Lt", ["2"], False)],
)  # fmt: skip
def test_node_affinity_filters_required_terms(operator: str, values: list[str], fits: bool) -> None:
    terms = [{"matchExpressions": [{"key": "size", "operator": operator, "values": values}]}]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    result = World(node("n", labels={"size": "3"})).schedule(pod("p", affinity=affinity))
    assert result == "n" if fits else reasons(result) == "1 node(s) didn't match Pod's node affinity/selector"


def test_node_affinity_scores_preferred_terms() -> None:
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
def test_node_ports_filters_conflicts(first: dict[str, Any], second: dict[str, Any], conflict: bool) -> None:
    def pod_with_port(name: str, port: dict[str, Any]) -> Any:
        return pod(name, containers=[{"name": "c", "ports": [{"containerPort": 1, **port}]}])

    world = World(node("n"))
    world.running("n", pod_with_port("a", first))
    result = world.schedule(pod_with_port("b", second))
    assert (reasons(result) == "1 node(s) didn't have free ports for the requested pod ports") is conflict


def test_image_locality_prefers_nodes_with_the_image() -> None:
    image = {"names": ["i:latest"], "sizeBytes": 900 << 20}
    world = World(node("a"), node("b", images=[image]), node("c"))
    assert world.schedule(pod("p")) == "b"


def test_node_resources_fit_counts_extended_resources() -> None:
    asks = {"containers": [{"name": "c", "resources": {"requests": {"example.com/gpu": "1"}}}]}
    world = World(node("plain"), node("gpu", allocatable={"example.com/gpu": "1"}))
    assert world.schedule(pod("a", **asks)) == "gpu"
    assert reasons(world.schedule(pod("b", **asks))) == "2 Insufficient example"


# Pod affinity

ZONES = [node(name, labels={"zone": zone}) for name, zone in (("a", "x"), ("b", "x"), ("c", "y"))]


def test_pod_affinity_selects_the_matching_domain() -> None:
    world = World(*ZONES)
    world.running("c", pod("db", labels={"app": "db"}))
    assert world.schedule(pod("web", affinity=required("podAffinity", near({"app": "db"}, "zone")))) == "c"


def test_pod_affinity_without_a_match_fails_unless_the_pod_matches_itself() -> None:
    world = World(*ZONES)
    term = near({"app": "db"}, "zone")
    assert reasons(world.schedule(pod("web", affinity=required("podAffinity", term)))) == (
        "3 node(s) didn't match pod affinity rules"
    )
    first = world.schedule(pod("db", labels={"app": "db"}, affinity=required("podAffinity", term)))
    assert first in {"a", "b", "c"}


def test_pod_affinity_uses_the_pod_namespace_by_default() -> None:
    world = World(*ZONES)
    world.core.cluster.namespaces["other"] = {"team": "t"}
    world.running("c", pod("db", namespace="other", labels={"app": "db"}))
    term = near({"app": "db"}, "zone")
    assert "affinity rules" in world.schedule(pod("p", affinity=required("podAffinity", term)))
    named = required("podAffinity", {**term, "namespaces": ["other"]})
    chosen = required("podAffinity", {**term, "namespaceSelector": {"matchLabels": {"team": "t"}}})
    assert world.schedule(pod("q", affinity=named)) == "c"
    assert world.schedule(pod("r", affinity=chosen)) == "c"


def test_pod_anti_affinity_is_symmetric() -> None:
    loner = required("podAntiAffinity", near({"app": "noisy"}))
    world = World(node("n"))
    world.running("n", pod("quiet", affinity=loner))
    result = world.schedule(pod("loud", labels={"app": "noisy"}))
    assert reasons(result) == "1 node(s) didn't satisfy existing pods anti-affinity rules"
    world = World(node("n"))
    world.running("n", pod("loud", labels={"app": "noisy"}))
    assert reasons(world.schedule(pod("quiet", affinity=loner))) == "1 node(s) didn't match pod anti-affinity rules"


def test_preemption_updates_anti_affinity_state() -> None:
    world = World(node("n"))
    world.running("n", pod("loud", labels={"app": "noisy"}))
    failed = world.fail(pod("quiet", priority=5, affinity=required("podAntiAffinity", near({"app": "noisy"}))))
    assert failed.victims is not None
    assert [victim.name for victim in failed.victims.pods] == ["loud"]


def test_preferred_affinity_and_anti_affinity_are_scored() -> None:
    def preferred_affinity(kind: str) -> dict[str, Any]:
        terms = [{"weight": 100, "podAffinityTerm": near({"app": "db"}, "zone")}]
        return {kind: {"preferredDuringSchedulingIgnoredDuringExecution": terms}}

    world = World(*ZONES)
    world.running("c", pod("db", labels={"app": "db"}))
    assert world.schedule(pod("near", affinity=preferred_affinity("podAffinity"))) == "c"
    assert world.schedule(pod("far", affinity=preferred_affinity("podAntiAffinity"))) in {"a", "b"}


# Topology spread


def spread(key: str = "zone", **rest: Any) -> list[dict[str, Any]]:
    selector = {"matchLabels": {"app": "s"}}
    return [{"topologyKey": key, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector, **rest}]


def test_topology_spread_selects_the_smallest_domain() -> None:
    world = World(*ZONES)
    placed = [world.schedule(pod(f"p{n}", labels={"app": "s"}, topologySpreadConstraints=spread())) for n in range(4)]
    assert sorted("y" if name == "c" else "x" for name in placed) == ["x", "x", "y", "y"]


def test_topology_spread_waits_when_the_smallest_domain_is_full() -> None:
    world = World(node("a", labels={"zone": "x"}), node("b", labels={"zone": "y"}, pods="1"))
    pods = [pod(f"p{n}", labels={"app": "s"}, topologySpreadConstraints=spread()) for n in range(4)]
    result = [world.schedule(item) for item in pods]
    assert reasons(result[3]) == "1 Too many pods, 1 node(s) didn't match pod topology spread constraints"


def test_topology_spread_minimum_is_zero_below_min_domains() -> None:
    world = World(node("a", labels={"zone": "x"}))
    preferred_affinity = {"labels": {"app": "s"}, "topologySpreadConstraints": spread(minDomains=2)}
    assert world.schedule(pod("p0", **preferred_affinity)) == "a"
    assert (
        reasons(world.schedule(pod("p1", **preferred_affinity)))
        == "1 node(s) didn't match pod topology spread constraints"
    )


def test_topology_spread_rejects_nodes_without_the_label() -> None:
    result = World(node("a")).schedule(pod("p", labels={"app": "s"}, topologySpreadConstraints=spread()))
    assert reasons(result) == "1 node(s) didn't match pod topology spread constraints (missing required label)"


def test_topology_spread_applies_system_defaults_to_workloads() -> None:
    world = World(*(node(name, cpu="64", memory="256Gi") for name in "abcd"))
    world.core.workloads.set_owner("rs", parse_label_selector("app=s"))
    placed = [world.schedule(pod(f"p{n}", owner="rs", labels={"app": "s"})) for n in range(4)]
    assert sorted(placed) == ["a", "b", "c", "d"]


def test_topology_spread_applies_system_defaults_to_services() -> None:
    world = World(*(node(name, cpu="64", memory="256Gi") for name in "ab"))
    world.core.workloads.set_service("default", "svc", {"app": "s"})
    assert sorted(world.schedule(pod(f"p{n}", labels={"app": "s"})) for n in range(2)) == ["a", "b"]


# Volumes


def stored(world: World, *objects: Any) -> World:
    catalog = world.core.catalog
    tables = {
        "PersistentVolume": catalog.volumes,
        "PersistentVolumeClaim": catalog.claims,
        "StorageClass": catalog.classes,
        "CSINode": catalog.csi_nodes,
    }
    for item in objects:
        namespace = f"{item.metadata.namespace}/" if item.metadata.namespace else ""
        tables[type(item).__name__][f"{namespace}{item.metadata.name}"] = item
    return world


def test_volume_binding_filters_by_node_affinity_of_bound_volumes() -> None:
    world = stored(World(*ZONES), claim("data", volumeName="v"), volume("v", zone="y"))
    assert world.schedule(pod("p", volumes=mounting("data"))) == "c"


@pytest.mark.parametrize(
    ("objects", "text"),
    [
        ([], 'persistentvolumeclaim "data" not found'),
        ([claim("data")], "pod has unbound immediate PersistentVolumeClaims"),
    ],
)
def test_volume_binding_rejects_unusable_claims(objects: list[Any], text: str) -> None:
    result = stored(World(node("n")), *objects).schedule(pod("p", volumes=mounting("data")))
    assert result == f"0/1 nodes are available: {text}. not found"


def test_volume_binding_rejects_nodes_when_the_bound_volume_is_missing() -> None:
    result = stored(World(node("n")), claim("data", volumeName="v")).schedule(pod("p", volumes=mounting("data")))
    assert reasons(result) == "1 node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"


def waiting(*volumes: Any, provisioner: str = "kubernetes.io/no-provisioner") -> World:
    return stored(
        World(*ZONES),
        storage_class("slow", provisioner=provisioner),
        claim("data", storageClassName="slow"),
        *volumes,
    )


def test_volume_binding_chooses_the_smallest_volume_for_an_unbound_claim() -> None:
    world = waiting(
        volume("big", size="9Gi", zone="y"), volume("fit", size="2Gi", zone="y"), volume("tiny", size="1Mi")
    )
    world.add(pod("p", volumes=mounting("data")))
    placed = world.schedule_one()
    assert isinstance(placed, AssumedPod)
    assert placed.node == "c"
    assert [result.metadata.name for _, result in placed.volumes.static] == ["fit"]


def test_volume_binding_binds_the_smaller_of_two_claims_first() -> None:
    small = claim("small", storageClassName="slow", resources={"requests": {"storage": "1Mi"}})
    world = stored(waiting(volume("v2", size="2Gi"), volume("v3", size="3Gi")), small)
    world.add(pod("p", volumes=mounting("data", "small")))
    placed = world.schedule_one()
    assert isinstance(placed, AssumedPod)
    chosen = {bound.metadata.name: result.metadata.name for bound, result in placed.volumes.static}
    assert chosen == {"small": "v2", "data": "v3"}


def test_volume_binding_prefers_a_volume_that_is_prebound_to_the_claim() -> None:
    reference = {"namespace": "default", "name": "data"}
    world = waiting(
        volume("smaller", size="1Gi"),
        volume("reserved", size="9Gi", zone="y", claimRef=reference, accessModes=["ReadWriteMany"]),
    )
    world.add(pod("p", volumes=mounting("data")))
    placed = world.schedule_one()
    assert isinstance(placed, AssumedPod)
    assert placed.node == "c"
    assert [result.metadata.name for _, result in placed.volumes.static] == ["reserved"]


def test_volume_binding_requires_the_attributes_class_of_the_claim() -> None:
    fast = claim("fast", storageClassName="slow", volumeAttributesClassName="fast")
    world = stored(waiting(volume("v"), volume("w", size="9Gi", volumeAttributesClassName="fast")), fast)
    world.add(pod("p", volumes=mounting("fast")))
    placed = world.schedule_one()
    assert isinstance(placed, AssumedPod)
    assert [result.metadata.name for _, result in placed.volumes.static] == ["w"]


def test_volume_binding_reserves_a_volume_once() -> None:
    world = stored(waiting(volume("v", zone="y")), claim("more", storageClassName="slow"))
    world.add(pod("a", volumes=mounting("data")), pod("b", volumes=mounting("more")))
    assert isinstance(world.schedule_one(), AssumedPod)
    second = world.schedule_one()
    assert second is not None
    assert reasons(getattr(second, "message", "")) == "3 node(s) didn't find available persistent volumes to bind"


def test_volume_binding_reports_bound_and_unbound_claims_together() -> None:
    taken = volume("v", zone="y", claimRef={"namespace": "default", "name": "bound"})
    world = stored(waiting(), claim("bound", volumeName="v"), taken)
    result = world.schedule(pod("p", volumes=mounting("data", "bound")))
    assert reasons(result) == (
        "2 node(s) didn't match PersistentVolume's node affinity, "
        "3 node(s) didn't find available persistent volumes to bind"
    )


@pytest.mark.parametrize(("selected", "node_name"), [("a", "a"), ("b", "b")])
def test_volume_binding_keeps_the_selected_node_of_a_claim(selected: str, node_name: str) -> None:
    new_claim = claim("data", storageClassName="slow")
    new_claim.metadata.annotations = {"volume.kubernetes.io/selected-node": selected}
    world = stored(waiting(provisioner="example.com/disks"), new_claim)
    world.add(pod("p", volumes=mounting("data")))
    placed = world.schedule_one()
    assert isinstance(placed, AssumedPod)
    assert placed.node == node_name


@pytest.mark.parametrize(
    ("is_deleted", "text"),
    [
        (True, 'persistentvolumeclaim "p-data" is being deleted'),
        (False, "PVC default/p-data (uid-p-data) was not created for pod default/p ({uid}) (pod is not owner)"),
    ],
)
def test_volume_binding_rejects_unusable_ephemeral_claims(is_deleted: bool, text: str) -> None:
    new_claim = claim("p-data", volumeName="v")
    new_claim.metadata.deletionTimestamp = at(0) if is_deleted else None
    ephemeral = {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {}}}}
    user = pod("p", volumes=[{"name": "data", "ephemeral": ephemeral}])
    result = stored(World(node("n")), new_claim).schedule(user)
    assert result == f"0/1 nodes are available: {text.format(uid=user.metadata.uid)}. not found"


def test_volume_binding_provisions_missing_volumes() -> None:
    world = waiting(provisioner="example.com/disks")
    world.add(pod("p", volumes=mounting("data")))
    placed = world.schedule_one()
    assert isinstance(placed, AssumedPod)
    assert [item.metadata.name for item in placed.volumes.provision] == ["data"]


def test_volume_restrictions_allow_one_pod_per_read_write_once_pod_claim() -> None:
    world = stored(
        World(node("a"), node("b")), claim("data", volumeName="v", accessModes=["ReadWriteOncePod"]), volume("v")
    )
    world.running("a", pod("first", volumes=mounting("data")))
    assert reasons(world.schedule(pod("second", volumes=mounting("data")))) == (
        "2 node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
    )


def test_volume_restrictions_share_disks_only_read_only() -> None:
    def disk(**rest: Any) -> dict[str, Any]:
        return {"volumes": [{"name": "d", "gcePersistentDisk": {"pdName": "x", **rest}}]}

    world = World(node("n"))
    world.running("n", pod("a", **disk(readOnly=True)))
    assert world.schedule(pod("b", **disk(readOnly=True))) == "n"
    assert reasons(world.schedule(pod("c", **disk()))) == "1 node(s) had no available disk"


def test_volume_zone_filters_by_volume_labels() -> None:
    zone = "topology.kubernetes.io/zone"
    world = stored(
        World(node("a", labels={zone: "x"}), node("b", labels={zone: "y"})),
        claim("data", volumeName="v"),
        volume("v", labels={zone: "y"}),
    )
    assert world.schedule(pod("p", volumes=mounting("data"))) == "b"


def test_node_volume_limits_filter_by_csinode_allocatable() -> None:
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


def test_anti_affinity_counts_terminating_pods_and_selected_namespaces() -> None:
    world = World(node("n0"), node("n1"))
    world.running("n0", pod("r", labels={"app": "x"}, deletionTimestamp="2026-01-01T00:00:00Z"))
    alone = required("podAntiAffinity", near({"app": "x"}))
    assert world.schedule(pod("p", affinity=alone)) == "n1"
    world = World(node("n0"), node("n1"))
    world.running("n0", pod("r", labels={"app": "x"}, namespace="other"))
    assert (
        world.schedule(pod("p", affinity=required("podAntiAffinity", near({"app": "x"}, namespaceSelector={})))) == "n1"
    )


def test_volume_binding_checks_storage_capacity() -> None:
    def capacity(name: str, zone: str, size: str) -> CSIStorageCapacity:
        tree = {"metadata": {"name": name}, "storageClassName": "fast", "capacity": size}
        return CSIStorageCapacity.from_dict({**tree, "nodeTopology": {"matchLabels": {"zone": zone}}})

    world = World(node("a", labels={"zone": "a"}), node("b", labels={"zone": "b"}))
    catalog = world.core.catalog
    catalog.classes["fast"] = storage_class("fast", provisioner="csi.example.com")
    catalog.claims["default/c"] = claim("c", storageClassName="fast")
    new_pod = pod("p", volumes=mounting("c"))
    driver = {"metadata": {"name": "csi.example.com"}, "spec": {"storageCapacity": True}}
    catalog.csi_drivers["csi.example.com"] = CSIDriver.from_dict(driver)
    catalog.capacities["x"] = capacity("x", "a", "512Mi")
    assert reasons(world.schedule(new_pod)) == "2 node(s) did not have enough free storage"
    catalog.capacities["y"] = capacity("y", "b", "2Gi")
    assert world.schedule(pod("q", volumes=mounting("c"))) == "b"


def test_node_volume_limits_count_attached_volumes_without_pods() -> None:
    csi = {"driver": "csi.example.com", "volumeHandle": "h"}
    world = World(node("n"), node("m"))
    for name in ("old", "new"):
        world.core.catalog.volumes[name] = volume(name, csi={**csi, "volumeHandle": name})
    world.core.catalog.claims["default/c"] = claim("c", volumeName="new", storageClassName="slow")
    for name in "nm":
        drivers = [{"name": "csi.example.com", "nodeID": name, "allocatable": {"count": 1}}]
        created = CSINode.from_dict({"metadata": {"name": name}, "spec": {"drivers": drivers}})
        world.core.catalog.csi_nodes[name] = created
    spec = {"attacher": "csi.example.com", "nodeName": "n", "source": {"persistentVolumeName": "old"}}
    world.core.catalog.attachments["a"] = VolumeAttachment.from_dict({"metadata": {"name": "a"}, "spec": spec})
    assert world.schedule(pod("p", volumes=mounting("c"))) == "m"
    (spec["nodeName"], spec["source"]) = ("m", {"persistentVolumeName": "new"})
    world.core.catalog.attachments["b"] = VolumeAttachment.from_dict({"metadata": {"name": "b"}, "spec": spec})
    assert world.schedule(pod("q", volumes=mounting("c"))) == "m"  # the volume is attached there already


@pytest.mark.parametrize(
    ("spec", "feature"),
    [
        ({"containers": [{"name": "c", "restartPolicyRules": [{"action": "RestartAllContainers"}]}]}, "RestartAllContainersOnContainerExits"),
        ({"hostNetwork": True, "hostUsers": False}, "UserNamespacesHostNetworkSupport"),
    ],
)  # fmt: skip
def test_node_declared_features_filter_by_required_features(spec: dict[str, Any], feature: str) -> None:
    able, unable = node("able"), node("unable")
    able.status.declaredFeatures = [feature]  # type: ignore[union-attr]
    result = World(unable).schedule(pod("p", **spec))
    assert reasons(result) == f"1 node declared features check failed - unsatisfied requirements: {feature}"
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
def test_topology_spread_follows_node_inclusion_policies(
    policies: dict[str, str], spec: dict[str, Any], *, fits: bool
) -> None:
    """KEP-3094: by default nodes excluded by node affinity are not counted as domains, tainted ones are."""
    world = World(
        node("a", labels={"zone": "a"}), node("b", labels={"zone": "b"}, taints=[{"key": "k", "effect": "NoSchedule"}])
    )  # fmt: skip
    world.running("a", pod("first", labels={"app": "x"}))
    constraint = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", **policies}
    constraint["labelSelector"] = {"matchLabels": {"app": "x"}}
    result = world.schedule(pod("p", labels={"app": "x"}, topologySpreadConstraints=[constraint], **spec))
    assert (result in ("a", "b")) is fits
    if not fits:
        assert "1 node(s) didn't match pod topology spread constraints" in result


def test_volume_restrictions_identify_ceph_clusters_by_any_monitor() -> None:
    def disk(*monitors: str) -> dict[str, Any]:
        return {"volumes": [{"name": "d", "rbd": {"monitors": list(monitors), "image": "i"}}]}

    world = World(node("n"))
    world.running("n", pod("a", **disk("m1", "m2")))
    assert reasons(world.schedule(pod("b", **disk("m2", "m3")))) == "1 node(s) had no available disk"
    assert world.schedule(pod("c", **disk("m4"))) == "n"
