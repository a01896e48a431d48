from __future__ import annotations

import pytest
from tests.unit.apiserver.writing import CONFIG_MAPS, Server, causes

from steersman.apiserver.endpoints.options import delete_options_of, field_manager_of
from steersman.apiserver.generic.options import WriteOptions

A = f"{CONFIG_MAPS}/a"
BODY = {"metadata": {"name": "a"}}


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("dryRun=true", '["true"]'),
        ("dryRun=", '[""]'),
        ("dryRun=All&dryRun=No", '["All","No"]'),
    ],
)
async def test_dry_run_accepts_all_only(query, shown):
    async with Server() as server:
        answer = await server.call("POST", CONFIG_MAPS, BODY, query=query)
        assert answer.body["message"] == (
            f'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: {shown}: supported values: "All"'
        )


@pytest.mark.parametrize(
    ("method", "kind"), [("POST", "CreateOptions"), ("PUT", "UpdateOptions"), ("PATCH", "PatchOptions")]
)
async def test_errors_name_the_options_kind_of_the_verb(method, kind):
    async with Server() as server:
        path = CONFIG_MAPS if method == "POST" else A
        media_type = "application/merge-patch+json" if method == "PATCH" else "application/json"
        answer = await server.call(method, path, BODY, query="fieldValidation=strict", media_type=media_type)
        assert answer.body["details"]["kind"] == kind
        assert causes(answer) == [("FieldValueNotSupported", "fieldValidation")]


async def test_field_manager_is_bounded_and_printable():
    async with Server() as server:
        long = await server.call("POST", CONFIG_MAPS, BODY, query={"fieldManager": "a" * 129})
        assert causes(long) == [("FieldValueTooLong", "fieldManager")]
        tab = await server.call("POST", CONFIG_MAPS, BODY, query={"fieldManager": "é\tb"})
        assert tab.body["details"]["causes"][0]["message"] == (
            'Invalid value: "é\\tb": invalid character U+0009 (at position 2)'
        )


async def test_apply_requires_a_field_manager():
    async with Server() as server:
        answer = await server.call("PATCH", A, BODY, media_type="application/apply-patch+yaml")
        assert causes(answer) == [("FieldValueRequired", "fieldManager")]


@pytest.mark.parametrize(
    ("agent", "manager"),
    [
        ("my-tool/v1.2 (linux) extra", "my-tool"),
        ("some tool", "some tool"),
        ("", "unknown"),
        ("a\tb/1", "ab"),
        ("é" * 100, "é" * 64),
    ],
)
async def test_field_manager_defaults_to_the_user_agent(agent, manager):
    async with Server() as server:
        request = server.request("POST", CONFIG_MAPS)
        request.first_headers[b"user-agent"] = agent.encode()
        assert field_manager_of(request, WriteOptions()) == manager
        assert field_manager_of(request, WriteOptions(field_manager="m")) == "m"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("soon", 'strconv.ParseInt: parsing "soon": invalid syntax'),
        ("", 'strconv.ParseInt: parsing "": invalid syntax'),
        ("9" * 25, f'strconv.ParseInt: parsing "{"9" * 25}": value out of range'),
    ],
)
async def test_grace_period_must_be_a_number(text, message):
    async with Server() as server:
        await server.make()
        answer = await server.call("DELETE", A, query={"gracePeriodSeconds": text})
        assert (answer.code, answer.body["message"]) == (400, message)


async def test_unknown_propagation_policies_are_rejected_in_query_and_body():
    async with Server() as server:
        await server.make()
        for requested in ({"query": "propagationPolicy=Sideways"}, {"body": {"propagationPolicy": "Sideways"}}):
            answer = await server.call("DELETE", A, requested.get("body"), query=requested.get("query", ""))
            assert causes(answer) == [("FieldValueNotSupported", "propagationPolicy")]


async def test_delete_options_may_be_yaml_and_of_any_group():
    async with Server() as server:
        await server.make()
        body = b"apiVersion: policy/v1\nkind: DeleteOptions\ndryRun: [All]\nnothing: true\n"
        answer = await server.call("DELETE", A, body, media_type="application/yaml")
        assert answer.code == 200
        assert (await server.call("GET", A)).code == 200


def test_delete_options_keep_empty_preconditions_for_reviews():
    assert delete_options_of({"preconditions": {}}).tree()["preconditions"] == {}
    assert "preconditions" not in delete_options_of({"preconditions": None}).tree()
