from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import CONTEXT, defaulted, edited, named

from steersman.apiserver.kinds.apiextensions.customresourcedefinition.strategy import CustomResourceDefinitionStrategy

STRATEGY = CustomResourceDefinitionStrategy()


def definition(*versions: str, **spec: object) -> dict:
    listed = [{"name": name, "served": True, "storage": name == versions[0]} for name in versions]
    names = {"plural": "shirts", "kind": "Shirt"}
    return defaulted(STRATEGY, named("shirts.example.com", spec={"names": names, "versions": listed, **spec}))


def test_names_follow_from_the_kind():
    assert definition("v1")["spec"]["names"] == {
        "plural": "shirts",
        "kind": "Shirt",
        "singular": "shirt",
        "listKind": "ShirtList",
    }


def test_versions_are_not_converted_unless_it_is_said_how():
    assert definition("v1")["spec"]["conversion"] == {"strategy": "None"}


def test_a_webhook_listens_on_443():
    webhook = {"clientConfig": {"service": {"namespace": "n", "name": "s"}}}
    spec = definition("v1", conversion={"strategy": "Webhook", "webhook": webhook})["spec"]
    assert spec["conversion"]["webhook"]["clientConfig"]["service"]["port"] == 443


def test_a_change_needs_the_version_it_is_based_on():
    assert STRATEGY.allow_unconditional_update is False


def test_a_new_definition_stores_in_its_storage_version():
    new = edited(definition("v1", "v2"), {"status.storedVersions": ["v9"]})
    STRATEGY.prepare_for_create(CONTEXT, new)
    assert new["status"]["storedVersions"] == ["v1"]


@pytest.mark.parametrize(("versions", "stored"), [(("v1", "v2"), ["v1"]), (("v2", "v1"), ["v1", "v2"])])
def test_another_storage_version_is_stored_in_besides(versions, stored):
    old = edited(definition("v1"), {"status": {"storedVersions": ["v1"], "conditions": []}})
    new = edited(definition(*versions), {"status.storedVersions": []})
    STRATEGY.prepare_for_update(CONTEXT, new, old)
    assert new["status"] == {"storedVersions": stored, "conditions": []}
    assert old["status"]["storedVersions"] == ["v1"]


def test_a_status_write_keeps_the_spec():
    old = definition("v1")
    new = edited(old, {"spec.scope": "Cluster", "status.storedVersions": ["v1"]})
    STRATEGY.prepare_for_status_update(CONTEXT, new, old)
    assert (new["spec"], new["status"]) == (old["spec"], {"storedVersions": ["v1"]})


def test_who_writes_metadata_with_the_status_is_told_as_its_writer():
    """Upstream keeps what is written there, and since 1.36 tells so (kubernetes#137689)."""
    assert STRATEGY.reset_fields["status"] == (("spec",),)


def test_its_objects_are_removed_before_it_goes():
    assert STRATEGY.delete_finalizers == ("customresourcecleanup.apiextensions.k8s.io",)


def test_formats_that_mean_nothing_warn_when_they_come():
    poem = {"type": "object", "properties": {"a": {"type": "string", "format": "poem"}}}
    new = edited(definition("v1"), {"spec.versions.0.schema": {"openAPIV3Schema": poem}})
    assert STRATEGY.warnings(CONTEXT, new, definition("v1")) == ['unrecognized format "poem"']
    assert STRATEGY.warnings(CONTEXT, new, new) == []
