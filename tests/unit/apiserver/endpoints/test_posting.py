from __future__ import annotations

from tests.unit.apiserver.writing import PODS, Server, pod_spec

BINDING = f"{PODS}/a/binding"
BODY = {"metadata": {"name": "a"}, "target": {"name": "n"}}


async def test_posted_body_must_be_of_the_kind():
    async with Server() as server:
        await server.make(PODS, spec=pod_spec())
        assert (await server.call("POST", BINDING, {**BODY, "kind": "Pod", "apiVersion": "v1"})).code == 400
        assert (await server.call("POST", BINDING, {**BODY, "kind": "Binding", "apiVersion": "v2"})).code == 400


async def test_posted_body_must_be_of_the_namespace():
    async with Server() as server:
        await server.make(PODS, spec=pod_spec())
        answer = await server.call("POST", BINDING, {**BODY, "metadata": {"name": "a", "namespace": "other"}})
        assert answer.code == 400


async def test_unknown_fields_of_a_posted_body_warn():
    async with Server() as server:
        await server.make(PODS, spec=pod_spec())
        assert (await server.call("POST", BINDING, {**BODY, "n": 1}, query="fieldValidation=Strict")).code == 400
        assert (await server.call("POST", BINDING, {**BODY, "n": 1})).warnings == ['unknown field "n"']


async def test_post_to_a_missing_namespace_is_404():
    async with Server() as server:
        answer = await server.call("POST", "/api/v1/namespaces/none/pods/a/binding", BODY)
        assert (answer.code, answer.body["details"]["kind"]) == (404, "namespaces")


async def test_invalid_options_are_rejected():
    async with Server() as server:
        await server.make(PODS, spec=pod_spec())
        assert (await server.call("POST", BINDING, BODY, query="dryRun=Some")).code == 422
        assert (await server.call("POST", BINDING, BODY, headers={"accept": "text/plain"})).code == 406
