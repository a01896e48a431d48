from __future__ import annotations

from tests.unit.apiserver.admission.plugged import Plugged

from steersman.apiserver.admission.chain import AdmissionChain
from steersman.apiserver.admission.namespace_existence import NamespaceAutoProvision, NamespaceExists

ELSEWHERE = "/api/v1/namespaces/elsewhere/configmaps"


async def test_auto_provision_creates_a_missing_namespace():
    async with Plugged(lambda stored: NamespaceAutoProvision(stored("namespaces"))) as server:
        body = {"metadata": {"name": "a"}}
        assert (await server.call("POST", ELSEWHERE, body, query="dryRun=All")).code == 404
        assert (await server.call("POST", ELSEWHERE, body)).code == 201
        namespace = (await server.call("GET", "/api/v1/namespaces/elsewhere")).body
        assert namespace["status"] == {"phase": "Active"}
        assert namespace["spec"] == {"finalizers": ["kubernetes"]}
        assert namespace["metadata"]["labels"] == {"kubernetes.io/metadata.name": "elsewhere"}


async def test_auto_provision_rejects_an_invalid_namespace_name():
    async with Plugged(lambda stored: NamespaceAutoProvision(stored("namespaces"))) as server:
        answer = await server.call("POST", "/api/v1/namespaces/No/configmaps", {"metadata": {"name": "a"}})
        assert answer.code == 422


async def test_namespace_exists_rejects_a_missing_namespace():
    async with Plugged(lambda stored: NamespaceExists(stored("namespaces").cache)) as server:
        [_, exists] = server.admission.plugins
        assert AdmissionChain([exists]).plugins == (exists,)
        assert (await server.call("POST", ELSEWHERE, {"metadata": {"name": "a"}})).code == 404
        assert (await server.make())["metadata"]["name"] == "a"
