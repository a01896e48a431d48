from __future__ import annotations

import json

from tests.unit.apiserver.admission.plugged import Plugged
from tests.unit.apiserver.writing import PODS

from steersman.apiserver.admission.pod_toleration_restriction import (
    DEFAULTS_ANNOTATION,
    WHITELIST_ANNOTATION,
    PodTolerationRestriction,
)

DEV = {"key": "env", "operator": "Equal", "value": "dev", "effect": "NoSchedule"}
PRESSURE = {"key": "node.kubernetes.io/memory-pressure", "operator": "Exists", "effect": "NoSchedule"}


def restricting():
    return Plugged(lambda stored: PodTolerationRestriction(stored("namespaces").cache))


async def annotate(server, **annotations):
    names = {"defaults": DEFAULTS_ANNOTATION, "whitelist": WHITELIST_ANNOTATION}
    texts = {names[key]: value if isinstance(value, str) else json.dumps(value) for key, value in annotations.items()}
    await server.merge("/api/v1/namespaces/default", {"metadata": {"annotations": texts}})


async def test_default_tolerations_of_the_namespace_are_merged():
    async with restricting() as server:
        await annotate(server, defaults=[DEV])
        assert (await server.pod()).body["spec"]["tolerations"] == [DEV]


async def test_pod_with_requests_tolerates_memory_pressure():
    async with restricting() as server:
        resources = {"requests": {"cpu": "1"}}
        pod = await server.pod(containers=[{"name": "c", "image": "i", "resources": resources}])
        assert pod.body["spec"]["tolerations"] == [PRESSURE]


async def test_toleration_outside_the_whitelist_is_rejected():
    async with restricting() as server:
        await annotate(server, whitelist=[{"key": "env", "operator": "Exists"}])
        assert (await server.pod(tolerations=[DEV])).code == 201
        refused = await server.pod("b", tolerations=[{"operator": "Exists"}])
        assert (refused.code, refused.body["message"]) == (
            500,
            "pod tolerations (possibly merged with namespace default tolerations) conflict with its namespace whitelist",
        )


async def test_default_tolerations_apply_on_create_only():
    async with restricting() as server:
        await server.pod()
        await annotate(server, defaults=[DEV])
        changed = await server.merge(f"{PODS}/a", {"metadata": {"labels": {"a": "b"}}})
        assert "tolerations" not in changed.body["spec"]


async def test_malformed_annotation_is_an_internal_error():
    async with restricting() as server:
        await annotate(server, defaults="{")
        assert (await server.pod()).code == 500


async def test_configuration_applies_to_namespaces_without_annotations():
    message = {"default": [DEV], "whitelist": [{"key": "env", "operator": "Exists"}]}
    async with Plugged(lambda stored: PodTolerationRestriction(stored("namespaces").cache, message)) as server:
        assert (await server.pod()).body["spec"]["tolerations"] == [DEV]
        refused = await server.pod("b", tolerations=[{"operator": "Exists"}])
        assert refused.body["message"].endswith("conflict with its cluster whitelist")
        await annotate(server, defaults=[], whitelist=[])
        assert (await server.pod("b", tolerations=[{"operator": "Exists"}])).code == 201
        assert "tolerations" not in (await server.pod("c")).body["spec"]
