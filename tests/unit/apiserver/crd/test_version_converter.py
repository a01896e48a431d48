"""Objects in several stored versions: reads through conversion, defaults and pruning, rewriting, and admission."""

import base64
import json
from typing import Any

from tests.unit.apiserver.crd.converting import (
    APPLY,
    DEFINITION,
    MERGE,
    V1,
    V2,
    Converter,
    definition,
    request,
    screen,
    until,
    webhook,
)
from tests.unit.apiserver.webhooks.servers import WebhookServer, ca_bundle, http_response

from steersman.testing import InProcessAPIServer

SMALL = {"size": "1x2"}
SMALL_V2 = {"width": 1, "height": 2}


async def store_in_v2(converting_server: InProcessAPIServer, converter: Converter) -> None:
    spec = definition(webhook(f"{converter.url}/convert"), stored="v2")["spec"]
    changed = await request(converting_server, "PATCH", DEFINITION, {"spec": spec}, **MERGE)
    assert changed["status"]["storedVersions"] == ["v1", "v2"]
    custom = converting_server.core._custom._custom
    await until(converting_server, V2, lambda _: custom["screens.example.com"].versions["v2"].is_stored)
    await until(converting_server, V2, lambda answer: answer.get("kind") == "ScreenList")


def stored_version(converting_server: InProcessAPIServer, name: str) -> str:
    """Return the version in which an object is stored; empty for the storage version."""
    cache = converting_server.core.resources.registry.get("example.com", "v2", "screens").cache
    return cache.get(cache.key("default", name)).api_version


async def test_objects_stored_before_the_storage_version_changed_are_converted(converting_server, converter):
    await request(converting_server, "POST", V1, screen("a", SMALL))
    await store_in_v2(converting_server, converter)
    await request(converting_server, "POST", V2, screen("b", SMALL_V2, version="v2"))
    assert (stored_version(converting_server, "a"), stored_version(converting_server, "b")) == ("example.com/v1", "")
    converter.bodies.clear()
    assert [item["spec"] for item in (await request(converting_server, "GET", V2))["items"]] == [SMALL_V2, SMALL_V2]
    assert [item["spec"] for item in (await request(converting_server, "GET", V1))["items"]] == [SMALL, SMALL]
    assert converter.calls == [["a"], ["b"]]


async def test_apply_of_nothing_rewrites_an_object_of_an_old_version(converting_server, converter):
    response = await request(converting_server, "POST", V1, screen("a", SMALL))
    await store_in_v2(converting_server, converter)
    body = {
        "apiVersion": "example.com/v2",
        "kind": "Screen",
        "metadata": {"name": "a", "uid": response["metadata"]["uid"]},
    }
    rewritten = await request(converting_server, "PATCH", f"{V2}/a?fieldManager=migrator", body, **APPLY)
    assert (rewritten["spec"], rewritten["metadata"]["generation"]) == (SMALL_V2, 1)
    assert int(rewritten["metadata"]["resourceVersion"]) > int(response["metadata"]["resourceVersion"])
    assert stored_version(converting_server, "a") == ""
    again = await request(converting_server, "PATCH", f"{V2}/a?fieldManager=migrator", body, **APPLY)
    assert again["metadata"]["resourceVersion"] == rewritten["metadata"]["resourceVersion"]


async def test_converted_objects_are_pruned_by_the_schema_of_their_version(converting_server, converter):
    def add(review):
        for converted_object in review["response"]["convertedObjects"]:
            converted_object["spec"]["unknown"] = True
        return review

    converter.change = add
    response = await request(converting_server, "POST", V2, screen("a", SMALL_V2, version="v2"))
    assert response["spec"] == SMALL_V2
    assert (await request(converting_server, "GET", f"{V1}/a"))["spec"] == SMALL


async def test_strategy_none_reads_objects_in_the_version_that_they_are_stored_in():
    async with InProcessAPIServer() as converting_server:
        tree = definition({"strategy": "None"})
        versions = tree["spec"]["versions"]
        properties = versions[0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
        properties["size"] = {"type": "string", "default": "1x1"}
        await request(converting_server, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", tree)
        await until(converting_server, V1, lambda answer: answer.get("kind") == "ScreenList")
        await request(converting_server, "POST", V1, screen("a", {"replicas": 2}))
        versions[0]["storage"], versions[1]["storage"] = False, True
        versions[1]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["size"] = {"type": "string"}
        await request(converting_server, "PATCH", DEFINITION, {"spec": {"versions": versions}}, **MERGE)
        custom = converting_server.core._custom._custom
        await until(converting_server, V2, lambda _: custom["screens.example.com"].versions["v2"].is_stored)
        await request(converting_server, "GET", V2)  # fills the cache of the new storage version
        assert stored_version(converting_server, "a") == "example.com/v1"
        shown = await until(converting_server, f"{V2}/a", lambda answer: "spec" in answer)
        assert (shown["apiVersion"], shown["spec"]) == ("example.com/v2", {"replicas": 2, "size": "1x1"})
        patched = await request(
            converting_server, "PATCH", f"{V2}/a?fieldManager=m", screen("a", {}, version="v2"), **APPLY
        )
        assert (patched["spec"], stored_version(converting_server, "a")) == ({"replicas": 2, "size": "1x1"}, "")


async def test_policies_see_objects_in_the_version_that_they_match(converting_server, converter):
    group = "admissionregistration.k8s.io"
    rule = {"apiGroups": ["example.com"], "apiVersions": ["v2"], "operations": ["*"], "resources": ["screens"]}
    policy = {
        "metadata": {"name": "width"},
        "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": "object.spec.width < 100", "message": "too wide"}],
        },
    }
    binding = {"metadata": {"name": "width"}, "spec": {"policyName": "width", "validationActions": ["Deny"]}}
    await request(converting_server, "POST", f"/apis/{group}/v1/validatingadmissionpolicies", policy)
    await request(converting_server, "POST", f"/apis/{group}/v1/validatingadmissionpolicybindings", binding)
    assert "spec" in await request(converting_server, "POST", V1, screen("a", SMALL))
    refused = await request(converting_server, "POST", V1, screen("b", {"size": "100x2"}))
    assert (refused["code"], "too wide" in refused["message"]) == (422, True)
    converter.is_down = True
    failed = await request(converting_server, "POST", V1, screen("b", SMALL))
    text = "failed to configure binding: failed to convert object version: conversion webhook for example.com/v1, Kind="
    assert (failed["code"], text in failed["message"]) == (422, True)


async def test_mutating_webhook_of_another_version_gets_and_patches_that_version(converting_server, converter):
    async def widen(_: str, review: Any) -> bytes:
        patch = [{"op": "replace", "path": "/spec/width", "value": 7}]
        response = {
            "uid": review["request"]["uid"],
            "allowed": True,
            "patchType": "JSONPatch",
            "patch": base64.b64encode(json.dumps(patch).encode()).decode(),
        }
        return http_response({**review, "response": response})

    rule = {"apiGroups": ["example.com"], "apiVersions": ["v2"], "operations": ["*"], "resources": ["screens"]}
    async with WebhookServer(widen) as mutating:
        hook = {
            "name": "widen.example.com",
            "clientConfig": {"url": mutating.url, "caBundle": ca_bundle()},
            "rules": [rule],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        group = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
        await request(converting_server, "POST", group, {"metadata": {"name": "widen"}, "webhooks": [hook]})
        new_response = await request(converting_server, "POST", V1, screen("a", SMALL))
        assert (new_response["apiVersion"], new_response["spec"]) == ("example.com/v1", {"size": "7x2"})
        [review] = mutating.bodies
        assert (review["request"]["object"]["apiVersion"], review["request"]["object"]["spec"]) == (
            "example.com/v2",
            SMALL_V2,
        )
        assert review["request"]["requestKind"]["version"] == "v1"
        converter.is_down = True
        failed = await request(converting_server, "POST", V1, screen("b", SMALL))
    text = "Internal error occurred: conversion webhook for example.com/v1, Kind=Screen failed: Post"
    assert (failed["code"], failed["message"].startswith(text)) == (500, True)
