"""Regular expressions of clients on long texts: one pass of RE2 for each place where an expression is used."""

from __future__ import annotations

import json
from typing import Any

import pytest
import re2

from steersman.testing import InProcessAPIServer

LENGTH = 100_000
#: Expressions on which backtracking engines take exponential or high polynomial time, with texts that do not match.
CASES = [
    (r"^(([a-z0-9])+\.?)+$", "a" * (LENGTH - 1) + "!"),
    (r"((x+)x+){10}y", "x" * LENGTH),
    (r"^a*a*a*a*a*b$", "a" * LENGTH),
]
PLURAL = "apiextensions.k8s.io/v1/customresourcedefinitions"
THINGS = "/apis/example.com/v1/things"


class Searches:
    """Stands for ``re2.compile``; records the searches of compiled expressions."""

    def __init__(self) -> None:
        self.compile = re2.compile
        #: Expression and number of bytes of each search.
        self.done: list[tuple[str, int]] = []

    def __call__(self, pattern: bytes, **options: Any) -> Program:
        return Program(pattern.decode(), self.compile(pattern, **options), self.done)


class Program:
    """A compiled expression that records its searches."""

    def __init__(self, pattern: str, program: Any, done: list[tuple[str, int]]) -> None:
        self.pattern, self.program, self.done = pattern, program, done
        self.programsize = program.programsize

    def search(self, data: bytes, position: int) -> Any:
        self.done.append((self.pattern, len(data) - position))
        return self.program.search(data, position)


@pytest.fixture
def searches(monkeypatch):
    recorder = Searches()
    monkeypatch.setattr(re2, "compile", recorder)
    return recorder.done


async def create(server: InProcessAPIServer, collection: str, tree: Any, code: int) -> Any:
    answer = await server.request("POST", collection, body=json.dumps(tree).encode())
    assert answer.code == code, answer.body[:1000]
    return answer.json()


async def define(server: InProcessAPIServer, spec: dict[str, Any]) -> None:
    """Create a definition whose objects have the field ``spec`` with a schema."""
    schema = {"type": "object", "properties": {"spec": spec}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    tree = {
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Cluster",
            "names": {"plural": "things", "kind": "Thing"},
            "versions": [version],
        },
    }
    await create(server, f"/apis/{PLURAL}", tree, 201)
    path = f"/apis/{PLURAL}?watch=true&resourceVersion=0"
    async with server.open("GET", path) as watch:
        async for piece in watch:
            if b'"type":"Established"' in piece:
                return


def thing(text: str) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": text}


def named(name: str, pattern: str) -> str:
    """Return the expression as a named group, since compiled expressions stay in a cache of the process."""
    return f"(?P<{name}>{pattern})"


@pytest.mark.parametrize(("pattern", "text"), CASES)
async def test_pattern_of_a_schema_is_searched_once_to_accept_and_once_to_explain(searches, pattern, text):
    pattern = named("schema", pattern)
    async with InProcessAPIServer() as server:
        await define(server, {"type": "string", "pattern": pattern})
        del searches[:]
        status = await create(server, THINGS, thing(text), 422)
    assert f"should match '{pattern}'" in status["message"]
    assert searches == [(pattern, LENGTH)] * 2


@pytest.mark.parametrize(("pattern", "text"), CASES)
async def test_expression_of_a_rule_is_searched_once(searches, pattern, text):
    pattern = named("rule", pattern)
    rule = {"rule": f"self.matches(r'{pattern}')"}
    async with InProcessAPIServer() as server:
        await define(server, {"type": "string", "maxLength": LENGTH, "x-kubernetes-validations": [rule]})
        del searches[:]
        status = await create(server, THINGS, thing(text), 422)
    assert "failed rule" in status["message"]
    assert searches == [(pattern, LENGTH)]


@pytest.mark.parametrize(("pattern", "text"), CASES)
async def test_expression_of_a_policy_is_searched_once(searches, pattern, text):
    pattern = named("policy", pattern)
    resources = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic"
    spec = {
        "matchConstraints": {"resourceRules": [resources]},
        "validations": [{"expression": f"object.data.text.matches(r'{pattern}')"}],
    }
    async with InProcessAPIServer() as server:
        await create(server, f"{policies}ies", {"metadata": {"name": "policy"}, "spec": spec}, 201)
        binding = {"policyName": "policy", "validationActions": ["Deny"]}
        await create(server, f"{policies}ybindings", {"metadata": {"name": "binding"}, "spec": binding}, 201)
        del searches[:]
        config_map = {"metadata": {"name": "a"}, "data": {"text": text}}
        status = await create(server, "/api/v1/namespaces/default/configmaps", config_map, 422)
    assert "denied request" in status["message"]
    assert searches == [(pattern, LENGTH)]
