from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, defaulted, edited, named

from steersman.apiserver.kinds.apiextensions.customresourcedefinition.strategy import CustomResourceDefinitionStrategy

STRATEGY = CustomResourceDefinitionStrategy()


def definition(*versions: str, **spec: object) -> dict:
    listed = [{"name": name, "served": True, "storage": name == versions[0]} for name in versions]
    names = {"plural": "shirts", "kind": "Shirt"}
    return defaulted(STRATEGY, named("shirts.example.com", spec={"names": names, "versions": listed, **spec}))


def test_default_derives_names_from_kind():
    assert definition("v1")["spec"]["names"] == {
        "plural": "shirts",
        "kind": "Shirt",
        "singular": "shirt",
        "listKind": "ShirtList",
    }


def test_default_sets_conversion_strategy_none():
    assert definition("v1")["spec"]["conversion"] == {"strategy": "None"}


@pytest.mark.parametrize("webhook", [{}, {"conversionReviewVersions": None}])
def test_default_drops_an_empty_webhook(webhook):
    spec = definition("v1", conversion={"strategy": "None", "webhook": webhook})["spec"]
    assert spec["conversion"] == {"strategy": "None"}
    spec = definition("v1", conversion={"strategy": "None", "webhook": {"clientConfig": {}}})["spec"]
    assert "webhook" in spec["conversion"]


def test_default_sets_webhook_service_port_443():
    webhook = {"clientConfig": {"service": {"namespace": "n", "name": "s"}}}
    spec = definition("v1", conversion={"strategy": "Webhook", "webhook": webhook})["spec"]
    assert spec["conversion"]["webhook"]["clientConfig"]["service"]["port"] == 443


def test_update_requires_resource_version():
    assert STRATEGY.allow_unconditional_update is False


def test_prepare_for_create_sets_stored_versions():
    new = edited(definition("v1", "v2"), {"status.storedVersions": ["v9"]})
    STRATEGY.prepare_for_create(CONTEXT, new)
    assert new["status"]["storedVersions"] == ["v1"]


@pytest.mark.parametrize(("versions", "stored"), [(("v1", "v2"), ["v1"]), (("v2", "v1"), ["v1", "v2"])])
def test_prepare_for_update_adds_new_storage_version(versions, stored):
    old = edited(definition("v1"), {"status": {"storedVersions": ["v1"], "conditions": []}})
    new = edited(definition(*versions), {"status.storedVersions": []})
    STRATEGY.prepare_for_update(CONTEXT, new, old)
    assert new["status"] == {"storedVersions": stored, "conditions": []}
    assert old["status"]["storedVersions"] == ["v1"]


def test_prepare_for_status_update_keeps_spec():
    old = definition("v1")
    new = edited(old, {"spec.scope": "Cluster", "status.storedVersions": ["v1"]})
    STRATEGY.prepare_for_status_update(CONTEXT, new, old)
    assert (new["spec"], new["status"]) == (old["spec"], {"storedVersions": ["v1"]})


def test_status_update_owns_written_metadata():
    """Upstream stores it and, since 1.36, records its field manager (kubernetes#137689)."""
    assert STRATEGY.reset_fields["status"] == (("spec",),)


def test_delete_adds_finalizer_of_instances_cleanup():
    assert STRATEGY.delete_finalizers == ("customresourcecleanup.apiextensions.k8s.io",)


def test_warnings_about_new_unsupported_formats():
    poem = {"type": "object", "properties": {"a": {"type": "string", "format": "poem"}}}
    new = edited(definition("v1"), {"spec.versions.0.schema": {"openAPIV3Schema": poem}})
    assert STRATEGY.warnings(CONTEXT, new, definition("v1")) == ['unrecognized format "poem"']
    assert STRATEGY.warnings(CONTEXT, new, new) == []
