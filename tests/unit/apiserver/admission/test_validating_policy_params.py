from __future__ import annotations

import pytest
from tests.unit.apiserver.admission.policies import Policed, denial

KIND = {"apiVersion": "v1", "kind": "Secret"}
SECRETS = "/api/v1/namespaces/default/secrets"
RULE = [{"expression": "params == null || object.data.k == params.metadata.labels.k"}]


async def parametrized(server, kind=KIND, **reference):
    await server.policy(validations=RULE, paramKind=kind)
    await server.bind(paramRef={"parameterNotFoundAction": "Deny", **reference} if reference else None)


async def test_parameter_is_found_by_name_in_the_namespace_of_the_write():
    async with Policed() as server:
        await parametrized(server, name="s")
        assert denial(await server.write()) == (
            "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
        )
        await server.make(SECRETS, metadata={"name": "s", "labels": {"k": "v"}})
        assert (await server.write()).code == 201
        assert (await server.write({"k": "w"}, name="b")).code == 422


async def test_policy_is_evaluated_with_every_selected_parameter():
    async with Policed() as server:
        await parametrized(server, selector={"matchLabels": {"use": "yes"}}, parameterNotFoundAction="Allow")
        assert (await server.write()).code == 201
        for name, value in (("one", "v"), ("two", "w")):
            await server.make(SECRETS, metadata={"name": name, "labels": {"k": value, "use": "yes"}})
        assert (await server.write(name="b")).code == 422


async def test_binding_can_allow_missing_parameters():
    async with Policed() as server:
        await parametrized(server)
        assert (await server.write()).code == 201


@pytest.mark.parametrize(
    ("kind", "reference", "text"),
    [
        (
            {"apiVersion": "x.example.com/v1", "kind": "Limit"},
            {"name": "a"},
            "failed to configure policy: failed to find resource referenced by paramKind: 'x.example.com/v1, Kind=Limit'",
        ),
        (
            {"apiVersion": "v1", "kind": "Node"},
            {"name": "a", "namespace": "b"},
            "failed to configure binding: paramRef.namespace must not be provided for a cluster-scoped `paramKind`",
        ),
    ],
)
async def test_unresolvable_parameter_reference_denies(kind, reference, text):
    async with Policed() as server:
        await parametrized(server, kind, **reference)
        assert denial(await server.write()) == text
