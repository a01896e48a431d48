from __future__ import annotations

import pytest
from tests.unit.apiserver.admission.plugged import Plugged, refusal

from steersman.apiserver.admission.pod_node_selector import ANNOTATION, PodNodeSelector, parse_selector
from steersman.apiserver.generic.entry import Layout
from steersman.apiserver.generic.watch_cache import WatchCache
from steersman.asynckit.clock import FakeClock


def selecting():
    return Plugged(lambda stored: PodNodeSelector(stored("namespaces").cache))


async def annotate(server, text):
    await server.merge("/api/v1/namespaces/default", {"metadata": {"annotations": {ANNOTATION: text}}})


async def test_selector_of_the_namespace_is_merged():
    async with selecting() as server:
        await annotate(server, "env=dev, zone = a")
        spec = (await server.pod(nodeSelector={"disk": "ssd", "env": "dev"})).body["spec"]
        assert spec["nodeSelector"] == {"env": "dev", "zone": "a", "disk": "ssd"}


async def test_conflicting_selector_is_rejected():
    async with selecting() as server:
        await annotate(server, "env=dev")
        assert refusal(await server.pod(nodeSelector={"env": "prod"})) == (
            "pod node label selector conflicts with its namespace node label selector"
        )


async def test_selector_is_unchanged_without_annotation():
    async with selecting() as server:
        assert "nodeSelector" not in (await server.pod()).body["spec"]


async def test_malformed_annotation_is_an_internal_error():
    async with selecting() as server:
        await annotate(server, "a=b=c")
        answer = await server.pod()
        assert (answer.code, answer.body["message"]) == (500, "invalid selector: [a b c]")


@pytest.mark.parametrize("text", ["a", "=b", "a=ä", "a=b,"])
def test_parse_selector_rejects_malformed_text(text):
    with pytest.raises(ValueError, match="invalid"):
        parse_selector(text)


@pytest.mark.parametrize("selectors", ["a=b", {"default": 5}])
def test_configuration_must_be_a_map_of_strings(selectors):
    layout = Layout("Namespace", "v1")
    unread = WatchCache(None, "/registry/namespaces/", layout=layout, clock=FakeClock(), tasks=None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="podNodeSelectorPluginConfig: must be a map of strings"):
        PodNodeSelector(unread, {"podNodeSelectorPluginConfig": selectors})


async def test_configuration_sets_default_and_allowed_selectors():
    message = {"podNodeSelectorPluginConfig": {"clusterDefaultNodeSelector": "env=dev", "default": "env=dev,disk=ssd"}}
    async with Plugged(lambda stored: PodNodeSelector(stored("namespaces").cache, message)) as server:
        pod = await server.pod(nodeSelector={"disk": "ssd"})
        assert pod.body["spec"]["nodeSelector"] == {"env": "dev", "disk": "ssd"}
        assert refusal(await server.pod("b", nodeSelector={"zone": "a"})) == (
            "pod node label selector labels conflict with its namespace whitelist"
        )
        await annotate(server, "")
        assert "nodeSelector" not in (await server.pod("c")).body["spec"]
