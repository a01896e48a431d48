"""What belongs to which node."""

from hypothesis import given
from hypothesis import strategies as st

from steersman.apiserver.authz.node_graph import NodeGraph, PodReferences

SECRET = ("Secret", "ns", "s")
CLAIM = ("PersistentVolumeClaim", "ns", "c")


def test_a_pod_brings_what_it_needs_to_its_node():
    graph = NodeGraph()
    graph.set_pod("ns", "p", PodReferences("n1", frozenset([SECRET, CLAIM])))
    assert graph.has_path("n1", "Pod", "ns", "p")
    assert graph.has_path("n1", *SECRET)
    assert not graph.has_path("n2", *SECRET)
    assert not graph.has_path("n1", "Secret", "other", "s")
    graph.set_pod("ns", "p", PodReferences("n2", frozenset([SECRET])))
    assert (graph.has_path("n1", *SECRET), graph.has_path("n2", *SECRET)) == (False, True)
    assert not graph.has_path("n1", *CLAIM)


def test_a_volume_and_its_secrets_come_through_the_claim():
    graph = NodeGraph()
    graph.set_volume("v", CLAIM, [("Secret", "vault", "k")])
    assert not graph.has_path("n1", "PersistentVolume", "", "v")
    graph.set_pod("ns", "p", PodReferences("n1", frozenset([CLAIM])))
    assert graph.has_path("n1", "PersistentVolume", "", "v")
    assert graph.has_path("n1", "Secret", "vault", "k")
    graph.set_volume("v", None)
    assert not graph.has_path("n1", "PersistentVolume", "", "v")


def test_some_objects_are_one_nodes_alone():
    graph = NodeGraph()
    graph.set_owned("VolumeAttachment", "a", "n1")
    assert graph.has_path("n1", "VolumeAttachment", "", "a")
    graph.set_owned("VolumeAttachment", "a", "")
    assert not graph.has_path("n1", "VolumeAttachment", "", "a")


def test_all_of_a_kind_can_be_forgotten():
    graph = NodeGraph()
    graph.set_pod("ns", "p", PodReferences("n1", frozenset([SECRET, CLAIM])))
    graph.set_volume("v", CLAIM)
    graph.set_owned("ResourceSlice", "r", "n1")
    for kind in ("Pod", "PersistentVolume", "ResourceSlice"):
        graph.clear(kind)
    assert not any(graph.has_path("n1", *ref) for ref in (SECRET, ("ResourceSlice", "", "r"), ("Pod", "ns", "p")))
    assert (graph._uses, graph._claims, graph._owned) == ({}, {}, {})


REFS = st.frozensets(st.sampled_from([SECRET, CLAIM, ("ConfigMap", "ns", "m")]))
NEEDS = st.one_of(st.none(), st.builds(PodReferences, st.sampled_from(["n1", "n2"]), REFS))


@given(st.lists(st.tuples(st.sampled_from("pq"), NEEDS), max_size=10))
def test_counts_say_what_a_scan_of_all_pods_says(steps):
    graph, pods = NodeGraph(), {}
    for name, needs in steps:
        graph.set_pod("ns", name, needs)
        pods[name] = needs
    for ref in (SECRET, CLAIM):
        for node in ("n1", "n2"):
            scan = any(needs and needs.node == node and ref in needs.refs for needs in pods.values())
            assert graph.has_path(node, *ref) is scan
