"""One manifest with every built-in kind: what kubectl makes of it, in every way that it has of writing."""

import json
from pathlib import Path

import pytest
import yaml
from tests.busy_machine import HANG_SECONDS
from tests.e2e.conftest import MANIFESTS

from steersman.controlplane.runtime_config import OFF_BY_DEFAULT
from steersman.schema.resources import table

MANIFEST = (MANIFESTS / "all-kinds.yaml").read_text()
OBJECTS = list(yaml.safe_load_all(MANIFEST))
#: Of these kubectl cannot say that nothing changed: their lists have no merge keys, and defaults are in them (or, of a
#: budget, a selector that is always replaced).
ALWAYS_SENT = {
    "endpoints",
    "endpointslice.discovery.k8s.io",
    "mutatingadmissionpolicy.admissionregistration.k8s.io",
    "mutatingwebhookconfiguration.admissionregistration.k8s.io",
    "poddisruptionbudget.policy",
    "resourceclaim.resource.k8s.io",
    "resourceclaimtemplate.resource.k8s.io",
    "validatingadmissionpolicy.admissionregistration.k8s.io",
    "validatingwebhookconfiguration.admissionregistration.k8s.io",
}
NO_FINALIZERS = '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"all-kinds"},"spec":{}}'


@pytest.fixture
def manifest(kubectl, tmp_path):
    """The manifest's path; what it names is gone at the end."""
    path = tmp_path / "all-kinds.yaml"
    path.write_text(MANIFEST.replace("NAMESPACE", kubectl.namespace))
    yield str(path)
    kubectl.run("delete", "-f", str(path), "--wait=false", "--ignore-not-found")
    kubectl.run(
        "wait", "--for=delete", "servicecidr/all-kinds", f"--timeout={HANG_SECONDS}s"
    )  # the server lets it go a second later
    for kind in ("pv", "volumeattributesclass"):  # no controller runs that would remove their finalizers
        kubectl.run("patch", kind, "all-kinds", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    kubectl.run("replace", "--raw", "/api/v1/namespaces/all-kinds/finalize", "-f", "-", stdin=NO_FINALIZERS)


@pytest.fixture
def all_kinds(kubectl, manifest):
    """kubectl, after an ``apply`` of the manifest."""
    kubectl.run("apply", "-f", manifest)
    settle(kubectl)
    return kubectl


def settle(kubectl):
    """Wait until the bootstrap controller has done what they do to some of it."""
    kubectl.run("wait", "--for=condition=Ready", "servicecidr/all-kinds", f"--timeout={HANG_SECONDS}s")


def group_kind(api_version, kind):
    return api_version.rpartition("/")[0], kind


def test_manifest_contains_every_stored_kind():
    stored_kinds = {
        (r.group, r.kind) for r in table().resources if r.key_prefix and r.api_version not in OFF_BY_DEFAULT
    }
    assert {group_kind(obj["apiVersion"], obj["kind"]) for obj in OBJECTS} == stored_kinds
    assert len(OBJECTS) == len(stored_kinds)


def test_apply_of_all_kinds_is_unchanged_when_repeated(all_kinds, manifest):
    before = json.loads(all_kinds.run("get", "-f", manifest, "-o", "json"))["items"]
    lines = all_kinds.run("apply", "-f", manifest).splitlines()
    assert len(lines) == len(OBJECTS)
    assert {line.partition("/")[0] for line in lines if not line.endswith(" unchanged")} == ALWAYS_SENT
    assert json.loads(all_kinds.run("get", "-f", manifest, "-o", "json"))["items"] == before


def test_diff_is_empty_after_apply(all_kinds, manifest):
    assert all_kinds.run("diff", "-f", manifest) == ""


def test_diff_and_apply_of_a_label_on_all_kinds(all_kinds, manifest):
    objects = yaml.safe_load_all(Path(manifest).read_text())
    labelled = [{**obj, "metadata": {**obj["metadata"], "labels": {"seen": "yes"}}} for obj in objects]
    text = yaml.safe_dump_all(labelled)
    assert all_kinds.run("diff", "-f", "-", stdin=text, code=1).count('+    seen: "yes"') == len(OBJECTS)
    lines = all_kinds.run("apply", "-f", "-", stdin=text).splitlines()
    assert [line for line in lines if not line.endswith(" configured")] == []


def test_replace_of_all_kinds_as_read(kubectl, manifest):
    kubectl.run("apply", "--server-side", "-f", manifest)  # leaves no annotation that replace would bring up to date
    settle(kubectl)
    read = json.loads(kubectl.run("get", "-f", manifest, "-o", "json"))["items"]
    assert len(read) == len(OBJECTS)
    lines = kubectl.run("replace", "-f", "-", stdin=yaml.safe_dump_all(read)).splitlines()
    assert [line for line in lines if not line.endswith(" replaced")] == []
    assert json.loads(kubectl.run("get", "-f", manifest, "-o", "json"))["items"] == read


def test_get_prints_columns_of_all_kinds(all_kinds, manifest):
    shown = all_kinds.run("get", "-f", manifest, "-o", "wide")
    assert shown.count("all-kinds") > len(OBJECTS) / 2


def test_server_side_apply_of_all_kinds_is_unchanged_when_repeated(kubectl, manifest):
    lines = kubectl.run("apply", "--server-side", "-f", manifest).splitlines()
    assert [line for line in lines if not line.endswith(" serverside-applied")] == []
    settle(kubectl)
    before = json.loads(kubectl.run("get", "-f", manifest, "-o", "json"))["items"]
    kubectl.run("apply", "--server-side", "-f", manifest)
    assert json.loads(kubectl.run("get", "-f", manifest, "-o", "json"))["items"] == before


def test_server_side_apply_takes_over_from_client_side_apply(all_kinds, manifest):
    # lists that belong to one manager as a whole have defaults in them: without force they are in conflict
    lines = all_kinds.run("apply", "--server-side", "--force-conflicts", "-f", manifest).splitlines()
    assert [line for line in lines if not line.endswith(" serverside-applied")] == []


def test_server_side_apply_conflict_is_reported_and_forced(kubectl):
    def config(value):
        return yaml.safe_dump(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shared"}, "data": {"a": value}}
        )

    apply = ("apply", "--server-side", "-f", "-")
    kubectl.run(*apply, "--field-manager=one", stdin=config("1"))
    refused = kubectl.run(*apply, "--field-manager=two", stdin=config("2"), code=1)
    assert 'conflict with "one"' in refused
    assert ".data.a" in refused
    kubectl.run(*apply, "--field-manager=two", "--force-conflicts", stdin=config("2"))
    assert kubectl.run("get", "cm", "shared", "-o", "jsonpath={.data.a}") == "2"
