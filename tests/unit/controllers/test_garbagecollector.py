import pytest

from steersman.client import PatchType, tree
from steersman.controllers.garbagecollector.controller import build
from steersman.controllers.garbagecollector.graph import FOREGROUND, ORPHAN, Graph, Identity, ObservedObject
from steersman.controllers.garbagecollector.plan import (
    DANGLING,
    SOLID,
    WAITING,
    Delete,
    Keep,
    Release,
    decide,
    finalizer_patch,
    has_same_relations,
    observed_object,
    owner_candidates,
    release_patch,
    state_of,
    unblock_patch,
)
from steersman.runtime.owners import Owner


def identity(uid, *, namespace="n", kind="ConfigMap", name=None):
    return Identity("v1", kind, namespace, name or uid, uid)


def owner(uid, *, name=None, kind="ConfigMap", block=False):
    return Owner("v1", kind, name or uid, uid, block_owner_deletion=block)


def node(uid, *owners, namespace="n", finalizers=(), deleted=False):
    return ObservedObject(identity(uid, namespace=namespace), tuple(owners), tuple(finalizers), being_deleted=deleted)


def dependent(*owners, **metadata):
    references = [owner.tree() for owner in owners]
    return {"metadata": {"uid": "d", "resourceVersion": "7", "ownerReferences": references, **metadata}}


# The graph


def test_only_observed_objects_need_no_processing_of_updates_without_news():
    graph = Graph()
    graph.observe(node("d", owner("o")), None)
    assert graph.has_observed("d")
    assert not graph.has_observed("o")
    graph.forget(identity("d"))
    assert not graph.has_observed("d")


def test_update_of_other_fields_has_the_same_relations():
    assert has_same_relations(dependent(owner("o")), dependent(owner("o"), resourceVersion="8", labels={"a": "b"}))


@pytest.mark.parametrize(
    "after",
    [
        dependent(),
        dependent(owner("o"), finalizers=[FOREGROUND]),
        dependent(owner("o"), deletionTimestamp="2026-01-01T00:00:00Z"),
    ],
)
def test_update_of_owners_finalizers_or_deletion_has_other_relations(after):
    assert not has_same_relations(dependent(owner("o")), after)


def test_unobserved_owner_becomes_a_virtual_node():
    graph = Graph()
    effects = graph.observe(node("d", owner("o")), None)
    assert list(effects.delete) == ["o"]
    assert graph.nodes["o"].virtual


def test_observed_virtual_node_with_matching_identity_needs_no_processing():
    graph = Graph()
    graph.observe(node("d", owner("o")), None)
    effects = graph.observe(node("o"), None)
    assert not graph.nodes["o"].virtual
    assert not effects.delete


def test_dependents_with_another_identity_are_processed():
    graph = Graph()
    graph.observe(node("d", owner("o", name="another")), None)
    assert list(graph.observe(node("o"), None).delete) == ["d"]


@pytest.mark.parametrize("owner_first", [True, False])
def test_cross_namespace_reference_is_reported(owner_first):
    graph = Graph()
    pair = [node("o", namespace="m"), node("d", owner("o"))]
    effects = [graph.observe(item, None) for item in (pair if owner_first else reversed(pair))][-1]
    assert list(effects.delete) == ["d"]
    assert [(dependent.uid, str(claimed)) for dependent, claimed in effects.invalid] == [
        ("d", "[v1/ConfigMap, namespace: n, name: o, uid: o]")
    ]


def test_deleted_owner_enqueues_dependents_and_is_recorded_absent():
    graph = Graph()
    graph.observe(node("o"), None)
    graph.observe(node("d", owner("o")), None)
    effects = graph.forget(identity("o"))
    assert list(effects.delete) == ["d"]
    assert effects.absent == [identity("o")]
    assert "o" not in graph.nodes


def test_last_deleted_dependent_enqueues_the_waiting_owner():
    graph = Graph()
    graph.observe(node("o", finalizers=[FOREGROUND], deleted=True), None)
    graph.observe(node("d", owner("o", block=True)), None)
    assert [item.identity.uid for item in graph.blocking("o")] == ["d"]
    assert list(graph.forget(identity("d")).delete) == ["o"]
    assert graph.blocking("o") == []


def test_foreground_deletion_enqueues_dependents_once():
    graph = Graph()
    before, after = node("o"), node("o", finalizers=[FOREGROUND], deleted=True)
    graph.observe(before, None)
    graph.observe(node("d", owner("o")), None)
    assert sorted(graph.observe(after, before).delete) == ["d", "o"]
    assert not graph.observe(after, after).delete


def test_orphan_deletion_enqueues_orphaning():
    graph = Graph()
    assert list(graph.observe(node("o", finalizers=[ORPHAN], deleted=True), None).orphan) == ["o"]


def test_removed_block_owner_deletion_enqueues_the_owner():
    graph = Graph()
    graph.observe(node("o"), None)
    graph.observe(node("d", owner("o", block=True)), None)
    assert list(graph.observe(node("d", owner("o")), None).delete) == ["o"]


def test_virtual_node_is_removed_with_its_last_dependent():
    graph = Graph()
    graph.observe(node("d", owner("o")), None)
    graph.observe(node("d"), None)
    assert "o" not in graph.nodes


def test_absent_virtual_node_adopts_the_next_identity():
    graph = Graph()
    graph.observe(node("d", owner("o")), None)
    graph.observe(node("e", owner("o"), namespace="m"), None)
    effects = graph.remove_absent(identity("o"))
    assert list(effects.delete) == ["d"]
    assert list(effects.later) == ["o"]
    assert graph.nodes["o"].identity.namespace == "m"


def test_forget_absent_keeps_an_observed_node_of_another_identity():
    graph = Graph()
    graph.observe(node("o"), None)
    graph.observe(node("d", owner("o", name="x")), None)
    effects = graph.remove_absent(identity("o", name="x"))
    assert "o" in graph.nodes
    assert list(effects.delete) == ["d"]


# What is done about one object


@pytest.mark.parametrize(
    ("owner_states", "dependents", "in_cycle", "finalizers", "expected"),
    [
        ([], 0, False, [], Keep()),
        ([SOLID], 0, False, [], Keep()),
        ([SOLID, DANGLING], 0, False, [], Release(("1",))),
        ([SOLID, WAITING, DANGLING], 0, False, [], Release(("2", "1"))),
        ([DANGLING], 0, False, [], Delete("Background")),
        ([DANGLING], 0, False, [ORPHAN], Delete("Orphan")),
        ([DANGLING], 0, False, [FOREGROUND], Delete("Foreground")),
        ([WAITING], 0, False, [], Delete("Background")),
        ([WAITING], 2, False, [], Delete("Foreground")),
        ([WAITING], 2, True, [], Delete("Foreground", unblock=True)),
    ],
)
def test_decide_keeps_an_object_with_an_existing_owner(owner_states, dependents, in_cycle, finalizers, expected):
    listed = [(owner(str(number)), state) for number, state in enumerate(owner_states)]
    result = decide({"metadata": {"finalizers": finalizers}}, listed, dependents=dependents, in_cycle=in_cycle)
    assert result == (Release(("2", "1")) if expected == Release(("2", "1")) else expected)


def test_decide_ignores_owners_in_foreground_deletion():
    metadata = {"deletionTimestamp": "x", "finalizers": [FOREGROUND]}
    assert state_of({"metadata": metadata}) == WAITING
    assert state_of({"metadata": {**metadata, "finalizers": ["x/y"]}}) == SOLID


def test_release_patch_by_uid_or_version():
    obj = dependent(owner("a"), owner("b"))
    assert release_patch(obj, ["a"], strategic=True)["metadata"]["ownerReferences"] == [
        {"$patch": "delete", "uid": "a"}
    ]
    whole = release_patch(obj, ["a"], strategic=False)["metadata"]
    assert ([owner_reference["uid"] for owner_reference in whole["ownerReferences"]], whole["resourceVersion"]) == (
        ["b"],
        "7",
    )


def test_unblock_patch():
    obj = dependent(owner("a", block=True), owner("b"))
    strategic = unblock_patch(obj, strategic=True)["metadata"]["ownerReferences"]
    assert strategic == [{"uid": "a", "blockOwnerDeletion": False}]
    assert not any(
        "blockOwnerDeletion" in owner_reference
        for owner_reference in unblock_patch(obj, strategic=False)["metadata"]["ownerReferences"]
    )


def test_finalizer_patch_has_the_resource_version():
    obj = dependent(finalizers=["a", "b"])
    assert finalizer_patch(obj, "a")["metadata"] == {"uid": "d", "resourceVersion": "7", "finalizers": ["b"]}
    assert finalizer_patch(obj, "c") is None


def test_owner_candidates():
    assert [owner_candidate.namespace for owner_candidate in owner_candidates(owner("o"), "n")] == ["", "n"]


def test_observed_object_has_identity_owners_and_finalizers():
    result = observed_object(tree("v1", "ConfigMap"), dependent(owner("o"), name="x", namespace="n", finalizers=["f"]))
    assert result == ObservedObject(
        Identity("v1", "ConfigMap", "n", "x", "d"), (owner("o"),), ("f",), being_deleted=False
    )


# The controller


def reference(obj, **more):
    return {
        "apiVersion": obj["apiVersion"], "kind": obj["kind"], "name": obj["metadata"]["name"],
        "uid": obj["metadata"]["uid"], **more,
    }  # fmt: skip


async def family(cluster, **more):
    parent = await cluster.make("v1", "ConfigMap", "parent", namespace="default")
    references = {"ownerReferences": [reference(parent, **more)]}
    await cluster.make("v1", "ConfigMap", "child", namespace="default", metadata=references)
    return parent


async def test_dependents_of_a_deleted_owner_are_deleted(cluster):
    await cluster.start(build)
    await cluster.client.delete_object(await family(cluster), propagation_policy="Background")
    await cluster.eventually("v1", "ConfigMap", "child", lambda obj: obj is None, namespace="default")


async def test_dependents_of_a_missing_owner_are_deleted(cluster):
    await cluster.start(build)
    ghost = {"apiVersion": "v1", "kind": "ConfigMap", "name": "ghost", "uid": "11111111-2222-4333-8444-555555555555"}
    await cluster.make("v1", "ConfigMap", "child", namespace="default", metadata={"ownerReferences": [ghost]})
    await cluster.eventually("v1", "ConfigMap", "child", lambda obj: obj is None, namespace="default")


async def test_foreground_deletion_deletes_the_owner_last(cluster):
    await cluster.start(build)
    parent = await family(cluster, blockOwnerDeletion=True)
    maps = tree("v1", "ConfigMap")
    await cluster.client.patch(maps, "child", {"metadata": {"finalizers": ["example.com/hold"]}}, namespace="default")
    await cluster.client.delete_object(parent, propagation_policy="Foreground")
    await cluster.eventually(
        "v1", "ConfigMap", "child", lambda obj: obj["metadata"].get("deletionTimestamp"), namespace="default"
    )
    await cluster.clock.advance(5)
    assert await cluster.find("v1", "ConfigMap", "parent", namespace="default")
    await cluster.client.patch(maps, "child", {"metadata": {"finalizers": None}}, namespace="default")
    await cluster.eventually("v1", "ConfigMap", "parent", lambda obj: obj is None, namespace="default")


async def test_orphaned_dependents_lose_their_reference(cluster):
    await cluster.start(build)
    await cluster.client.delete_object(await family(cluster), propagation_policy="Orphan")
    await cluster.eventually("v1", "ConfigMap", "parent", lambda obj: obj is None, namespace="default")
    child = await cluster.find("v1", "ConfigMap", "child", namespace="default")
    assert "ownerReferences" not in child["metadata"]


async def test_object_with_one_of_two_owners_is_kept(cluster):
    await cluster.start(build)
    parent = await family(cluster)
    other = await cluster.make("v1", "ConfigMap", "other", namespace="default")
    both = {"metadata": {"ownerReferences": [reference(parent), reference(other)]}}
    await cluster.client.patch(tree("v1", "ConfigMap"), "child", both, patch_type=PatchType.MERGE, namespace="default")
    await cluster.client.delete_object(parent, propagation_policy="Background")
    child = await cluster.eventually(
        "v1", "ConfigMap", "child", lambda obj: len(obj["metadata"]["ownerReferences"]) == 1, namespace="default"
    )
    assert child["metadata"]["ownerReferences"][0]["name"] == "other"


async def test_cross_namespace_dependent_gets_an_event_and_is_deleted(cluster):
    await cluster.start(build)
    parent = await cluster.make("v1", "ConfigMap", "parent", namespace="kube-system")
    metadata = {"ownerReferences": [reference(parent)]}
    await cluster.make("v1", "ConfigMap", "child", namespace="default", metadata=metadata)
    await cluster.eventually("v1", "ConfigMap", "child", lambda obj: obj is None, namespace="default")
    event = (await cluster.until(lambda: cluster.events("OwnerRefInvalidNamespace")))[0]
    assert event["message"].endswith('does not exist in namespace "default"')


async def test_custom_resources_are_collected_once_served(cluster):
    await cluster.start(build)
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    names = {"plural": "toys", "singular": "toy", "kind": "Toy", "listKind": "ToyList"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    await cluster.make("apiextensions.k8s.io/v1", "CustomResourceDefinition", "toys.example.com", spec=spec)
    await cluster.clock.advance(5)
    parent = await cluster.make("v1", "ConfigMap", "parent", namespace="default")
    toy = {"apiVersion": "example.com/v1", "kind": "Toy", "metadata": {"name": "t", "namespace": "default",
           "ownerReferences": [reference(parent)]}}  # fmt: skip
    await cluster.client.create(toy)
    await cluster.client.delete_object(parent, propagation_policy="Background")
    toys = await cluster.client.discover("example.com/v1", "Toy")

    async def are_deleted():
        return not await cluster.client.list(toys)

    await cluster.until(are_deleted)


async def test_build_returns_none_when_disabled(cluster):
    context = type("Context", (), {"options": type("Options", (), {"enable_garbage_collector": False})})
    assert build(context) is None


def waiting(uid, *owners):
    return node(uid, *owners, finalizers=[FOREGROUND], deleted=True)


def test_blocking_dependents_are_followed_transitively():
    graph = Graph()
    for seen_ in (waiting("a", owner("b", block=True)), waiting("b", owner("c", block=True)), waiting("c")):
        graph.observe(seen_, None)
    assert graph.waits_for("c", "a")
    assert not graph.waits_for("a", "c")


@pytest.mark.parametrize("names", [("a",), ("a", "b"), ("a", "b", "c")])
async def test_cycle_in_foreground_deletion_is_deleted(cluster, names):
    await cluster.start(build)
    created = [await cluster.make("v1", "ConfigMap", name, namespace="default") for name in names]
    for place, obj in enumerate(created):
        references = [reference(created[place - 1], blockOwnerDeletion=True)]
        patch = {"metadata": {"ownerReferences": references}}
        await cluster.client.patch(tree("v1", "ConfigMap"), obj["metadata"]["name"], patch, namespace="default")
    for obj in created:
        await cluster.client.delete_object(obj, propagation_policy="Foreground")
    for name in names:
        await cluster.eventually("v1", "ConfigMap", name, lambda obj: obj is None, namespace="default")
