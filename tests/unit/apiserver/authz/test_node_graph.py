"""Graph of nodes and related objects."""

from hypothesis import given
from hypothesis import strategies as st

from steersman.apiserver.authz.node_graph import NodeGraph, PodReferences

SECRET = ("Secret", "ns", "s")
CLAIM = ("PersistentVolumeClaim", "ns", "c")


def test_set_pod_relates_references_to_node():
    graph = NodeGraph()
    graph.set_pod("ns", "p", PodReferences("n1", frozenset([SECRET, CLAIM])))
    assert graph.has_path("n1", "Pod", "ns", "p")
    assert graph.has_path("n1", *SECRET)
    assert not graph.has_path("n2", *SECRET)
    assert not graph.has_path("n1", "Secret", "other", "s")
    graph.set_pod("ns", "p", PodReferences("n2", frozenset([SECRET])))
    assert (graph.has_path("n1", *SECRET), graph.has_path("n2", *SECRET)) == (False, True)
    assert not graph.has_path("n1", *CLAIM)


def test_set_volume_relates_secrets_through_claim():
    graph = NodeGraph()
    graph.set_volume("v", CLAIM, [("Secret", "vault", "k")])
    assert not graph.has_path("n1", "PersistentVolume", "", "v")
    graph.set_pod("ns", "p", PodReferences("n1", frozenset([CLAIM])))
    assert graph.has_path("n1", "PersistentVolume", "", "v")
    assert graph.has_path("n1", "Secret", "vault", "k")
    graph.set_volume("v", None)
    assert not graph.has_path("n1", "PersistentVolume", "", "v")


def test_set_owned_relates_object_to_one_node():
    graph = NodeGraph()
    graph.set_owned("VolumeAttachment", "a", "n1")
    assert graph.has_path("n1", "VolumeAttachment", "", "a")
    graph.set_owned("VolumeAttachment", "a", "")
    assert not graph.has_path("n1", "VolumeAttachment", "", "a")


def test_clear_removes_all_objects_of_a_kind():
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
def test_has_path_equals_scan_of_all_pods(steps):
    graph, pods = NodeGraph(), {}
    for name, needs in steps:
        graph.set_pod("ns", name, needs)
        pods[name] = needs
    for ref in (SECRET, CLAIM):
        for node in ("n1", "n2"):
            scan = any(needs and needs.node == node and ref in needs.refs for needs in pods.values())
            assert graph.has_path(node, *ref) is scan
