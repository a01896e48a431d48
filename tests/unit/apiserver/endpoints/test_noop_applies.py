from __future__ import annotations

import pytest
from tests.unit.apiserver.writing import CONFIG_MAPS, DEPLOYMENTS, Server, deployment

from steersman.apiserver.admission.interface import Operation, Plugin
from steersman.apiserver.endpoints.noop_applies import NoopApplyCache
from steersman.apiserver.endpoints.request_scope import RequestScope
from steersman.apiserver.generic.entry import Layout

pytestmark = pytest.mark.interpreted
A = f"{CONFIG_MAPS}/a"


def config(**data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}


class Watchful(Plugin):
    """Counts what it is asked, and labels objects when ``labels`` is set."""

    name = "RuntimeClass"

    def __init__(self):
        self.call_count = 0
        self.label = ""
        self.reads = False

    def handles(self, resource, subresource, operation):
        return resource.name == "configmaps" and operation is Operation.UPDATE

    async def admit(self, attributes):
        self.call_count += 1
        if self.label:
            attributes.object["metadata"]["labels"] = {"l": self.label}

    async def validate(self, attributes):
        self.call_count += 100
        if self.reads:
            assert attributes.object == attributes.old_object
            assert attributes.object is not attributes.old_object


@pytest.fixture
def cache_hits(monkeypatch):
    """Return the applies that were answered from the cache."""
    answers = []
    ask = NoopApplyCache.unchanged

    async def unchanged(self, *arguments):
        entry = await ask(self, *arguments)
        answers.append(entry is not None)
        return entry

    monkeypatch.setattr(NoopApplyCache, "unchanged", unchanged)
    return answers


async def test_third_equal_apply_is_a_cache_hit(cache_hits):
    async with Server() as server:
        answers = [await server.apply(A, config(k="v")) for _ in range(4)]
        assert cache_hits == [False, False, True, True]
        assert [answer.code for answer in answers] == [201, 200, 200, 200]
        assert answers[1].body == answers[3].body


async def test_write_to_the_object_invalidates_the_entry(cache_hits):
    async with Server() as server:
        for _ in range(3):
            await server.apply(A, config(k="v"))
        await server.merge(A, {"data": {"k": "w"}})
        refused = await server.apply(A, config(k="v"))
        assert (cache_hits[-1], refused.code) == (False, 409)
        taken = await server.apply(A, config(k="v"), query="force=true")
        assert (cache_hits[-1], taken.body["data"]) == (False, {"k": "v"})


async def test_another_body_manager_or_object_is_a_cache_miss(cache_hits):
    async with Server() as server:
        for _ in range(3):
            await server.apply(A, config(k="v"))
        await server.apply(A, config(k="v"), manager="two")
        await server.apply(A, config(k="v", more="x"))
        await server.apply(f"{CONFIG_MAPS}/b", {**config(k="v"), "metadata": {"name": "b"}})
        assert cache_hits[3:] == [False, False, False]


async def test_cache_hit_still_runs_admission(cache_hits):
    plugin = Watchful()
    async with Server(plugin) as server:
        for _ in range(4):
            await server.apply(A, config(k="v"))
        assert (cache_hits[-1], plugin.call_count) == (True, 303)
        plugin.label = "x"
        labelled = await server.apply(A, config(k="v"))
        assert (cache_hits[-1], labelled.body["metadata"]["labels"]) == (False, {"l": "x"})


async def test_unchanged_object_is_decoded_only_for_a_plugin_that_reads_it(cache_hits, monkeypatch):
    decoded = []
    tree = Layout.tree

    def counted(self, entry):
        decoded.append(entry.name)
        return tree(self, entry)

    plugin = Watchful()
    async with Server(plugin) as server:
        for _ in range(2):
            await server.apply(A, config(k="v"))
        monkeypatch.setattr(Layout, "tree", counted)
        await server.apply(A, config(k="v"))
        assert (cache_hits[-1], decoded) == (True, [])
        plugin.reads = True
        await server.apply(A, config(k="v"))
        assert (cache_hits[-1], decoded) == (True, ["a", "a"])


async def test_cache_hit_repeats_warnings(cache_hits):
    doubled = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"},"data":{"k":"v"}}'
    async with Server() as server:
        warnings = [
            (
                await server.call(
                    "PATCH", A, doubled, media_type="application/apply-patch+yaml", query="fieldManager=one"
                )
            )
            for _ in range(4)
        ]
        assert cache_hits == [False] * 4
        assert all(answer.warnings for answer in warnings)


async def test_defaulted_objects_are_cached(cache_hits):
    async with Server() as server:
        body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": deployment()}
        answers = [await server.apply(f"{DEPLOYMENTS}/a", body) for _ in range(3)]
        assert cache_hits == [False, False, True]
        assert answers[2].body == answers[1].body


async def test_roles_and_scales_have_no_cache(monkeypatch):
    seen = {}
    make = RequestScope.__init__

    def remember(self, served, **more):
        make(self, served, **more)
        seen[served.resource.name, self.subresource] = self

    monkeypatch.setattr(RequestScope, "__init__", remember)
    async with Server() as server:
        await server.call("GET", "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles")
        await server.call("GET", f"{DEPLOYMENTS}/a/scale")
        await server.call("GET", f"{DEPLOYMENTS}/a/status")
        assert seen["roles", ""].noop_applies is None
        assert seen["deployments", "scale"].noop_applies is None
        assert seen["deployments", "status"].noop_applies is not None
