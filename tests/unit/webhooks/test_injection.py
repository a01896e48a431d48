"""Injection of certificate authorities."""

import asyncio
import base64
import copy
from contextlib import asynccontextmanager

import pytest

from steersman.client import tree
from steersman.webhooks import CABundleInjector, SelfSignedCertificate
from steersman.webhooks.injection import plan_configuration, plan_definition

ADMISSION = "admissionregistration.k8s.io/v1"
VALIDATING, MUTATING = (tree(ADMISSION, f"{kind}WebhookConfiguration") for kind in ("Validating", "Mutating"))
DEFINITIONS = tree("apiextensions.k8s.io/v1", "CustomResourceDefinition")
SECRETS = tree("v1", "Secret")
SERVICE = {"namespace": "default", "name": "webhook", "path": "/"}
WEBHOOK = {
    "clientConfig": {"service": SERVICE},
    "admissionReviewVersions": ["v1"],
    "sideEffects": "None",
    "rules": [{"apiGroups": ["x.io"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["ys"]}],
}


def configuration(kind, name):
    webhooks = [{"name": f"{letter}.example.com", **copy.deepcopy(WEBHOOK)} for letter in "ab"]
    return {
        "apiVersion": ADMISSION,
        "kind": f"{kind}WebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": webhooks,
    }


def definition(**conversion):
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "screens.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"kind": "Screen", "plural": "screens"},
            "conversion": conversion,
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


WEBHOOK_CONVERSION = {
    "strategy": "Webhook",
    "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"service": SERVICE}},
}


def secret(bundle):
    data = {"ca.crt": encoded(bundle)}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "cert", "namespace": "default"}, "data": data}


def encoded(bundle):
    return base64.b64encode(bundle).decode()


@pytest.fixture(scope="module")
def authorities():
    return [SelfSignedCertificate().ca_bundle for _ in range(2)]


@asynccontextmanager
async def injecting(context):
    injector = CABundleInjector(
        context,
        "cert",
        namespace="default",
        validating=["one"],
        mutating=["one", "missing"],
        definitions=["screens.example.com"],
    )
    context.informers.start()
    task = asyncio.create_task(injector.run())
    try:
        yield injector
    finally:
        injector.stop()
        await task


def bundles_of(obj):
    return {webhook["clientConfig"].get("caBundle") for webhook in obj["webhooks"]}


async def test_bundles_follow_the_secret_and_the_objects(context, client, until, authorities):
    first, second = authorities
    for kind in ("Validating", "Mutating"):
        await client.create(configuration(kind, "one"))
    await client.create(configuration("Validating", "other"))
    await client.create(definition(**WEBHOOK_CONVERSION))
    async with injecting(context) as injector:
        await until(lambda: injector.is_ready)

        def all_have(bundle):
            configurations = [injector.informer(kind, field_selector="metadata.name=one").lister.by_key("one")
                              for kind in (VALIDATING, MUTATING)]  # fmt: skip
            definitions = injector.informer(DEFINITIONS, field_selector="metadata.name=screens.example.com").lister
            conversion = definitions.by_key("screens.example.com")["spec"]["conversion"]["webhook"]
            bundles = [*map(bundles_of, configurations), {conversion["clientConfig"].get("caBundle")}]
            return bundles == [{encoded(bundle)}] * 3

        await client.create(secret(first))
        await until(lambda: all_have(first))
        await client.patch(SECRETS, "cert", {"data": {"ca.crt": encoded(second)}}, namespace="default")
        await until(lambda: all_have(second))
        # A manifest without the bundle is applied again.
        live = await client.get(VALIDATING, "one")
        updated = await client.update({**live, "webhooks": configuration("Validating", "one")["webhooks"]})
        former = {obj["metadata"]["resourceVersion"] for obj in (live, updated)}
        lister = injector.informer(VALIDATING, field_selector="metadata.name=one").lister
        await until(lambda: lister.by_key("one")["metadata"]["resourceVersion"] not in former and all_have(second))
    assert bundles_of(await client.get(VALIDATING, "one")) == {encoded(second)}
    assert bundles_of(await client.get(VALIDATING, "other")) == {None}


def test_plan_of_a_configuration_names_the_webhooks_that_differ():
    live = configuration("Mutating", "one")
    live["webhooks"][0]["clientConfig"]["caBundle"] = "eA=="
    expected = {"webhooks": [{"name": "b.example.com", "clientConfig": {"caBundle": "eA=="}}]}
    assert plan_configuration(live, "eA==") == expected
    live["webhooks"][1]["clientConfig"]["caBundle"] = "eA=="
    assert plan_configuration(live, "eA==") is None
    assert plan_configuration({"metadata": {}, "webhooks": None}, "eA==") is None


def test_plan_of_a_definition_without_conversion_webhook_is_empty():
    assert plan_definition(definition(strategy="None"), "eA==") is None
    assert plan_definition({"spec": {}}, "eA==") is None
    patch = {"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": "eA=="}}}}}
    assert plan_definition(definition(**WEBHOOK_CONVERSION), "eA==") == patch
