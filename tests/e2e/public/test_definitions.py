"""Definitions of well-known projects and objects of them, as users of kubectl create, apply, change and delete them."""

from __future__ import annotations

import copy
import json

import pytest
from tests.busy_machine import HANG_SECONDS
from tests.e2e.public.conftest import is_large
from tests.e2e.public.notation import PROJECTS, project

CHANGED_LABELS = {"app.kubernetes.io/part-of": "changed"}


def items(kubectl, path):
    """Return the live objects that a file names."""
    live = json.loads(kubectl.run("get", "-f", path, "-o", "json"))
    return live.get("items", [live])


def versions_of(live):
    return [item["metadata"]["resourceVersion"] for item in live]


def contains(live, expected):
    """True if a live value has all that an applied one has; nulls ask for nothing."""
    match expected:
        case dict():
            return isinstance(live, dict) and all(
                value is None or (key in live and contains(live[key], value)) for key, value in expected.items()
            )
        case list():
            return isinstance(live, list) and len(live) == len(expected) and all(map(contains, live, expected))
    return bool(live == expected)


def assert_contain(live, expected):
    assert [item["metadata"]["name"] for item in live] == [item["metadata"]["name"] for item in expected]
    for live_object, wanted_object in zip(live, expected, strict=True):
        for name in ("spec", "metadata"):
            assert contains(live_object[name], wanted_object[name]), (live_object[name], wanted_object[name])


def has_longer_lists(live, applied):
    """True if the server added defaults inside a list.

    Merge patches replace lists, so kubectl sends such a list again with each client-side apply.
    """
    if isinstance(applied, dict):
        return any(key in live and has_longer_lists(live[key], value) for key, value in applied.items())
    return isinstance(applied, list) and live != applied


def establish(kubectl, path):
    kubectl.run("wait", "--for=condition=Established", "-f", path, f"--timeout={HANG_SECONDS}s")


def verb_of_each(output):
    """Return the last word of each line of output."""
    return [line.rpartition(" ")[2] for line in output.splitlines()]


def verbs_of(output):
    return set(verb_of_each(output))


def changed(definitions):
    """Return definitions as of a later release: a label, and a field more in each version."""
    later = copy.deepcopy(definitions)
    for definition in later:
        definition["metadata"]["labels"] = CHANGED_LABELS
        for version in definition["spec"]["versions"]:
            spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
            spec["properties"]["laterField"] = {
                "type": "array",
                "items": {"type": "object", "additionalProperties": {"type": "string"}},
            }
    return later


def owned_by_kubectl(kubectl, path):
    """Return the fields of each object that server-side apply gave to kubectl."""
    live = json.loads(kubectl.run("get", "-f", path, "-o", "json", "--show-managed-fields"))
    return [
        owner["fieldsV1"]
        for item in live.get("items", [live])
        for owner in item["metadata"]["managedFields"]
        if (owner["manager"], owner["operation"]) == ("kubectl", "Apply")
    ]


def test_create_explain_and_delete(files, clean_kubectl):
    kubectl = clean_kubectl
    definitions = files.write_list("list", files.project.definitions)
    assert verbs_of(kubectl.run("create", "-f", definitions)) == {"created"}
    establish(kubectl, files.definitions)
    for name in PROJECTS:
        first = project(name).objects[0]
        reference = (f"{first['kind']}.spec", f"--api-version={first['apiVersion']}")
        explained = kubectl.run("explain", *reference, "--recursive")
        assert all(f"  {field}\t" in explained for field in first["spec"]), name
    assert verbs_of(kubectl.run("create", "-f", files.objects)) == {"created"}
    assert_contain(items(kubectl, files.objects), files.project.objects)
    kubectl.run("delete", "-f", files.objects)
    assert kubectl.run("get", "-f", files.objects, "--ignore-not-found") == ""
    kubectl.run("delete", "-f", files.definitions)
    assert kubectl.run("get", "-f", files.definitions, "--ignore-not-found") == ""


def test_client_side_apply_creates_then_finds_unchanged_then_changes(files, clean_kubectl):
    kubectl = clean_kubectl
    small = [definition for definition in files.project.definitions if not is_large(definition)]
    assert verbs_of(kubectl.run("apply", "-f", files.small_definitions)) == {"created"}
    kubectl.run("create", "-f", files.large_definitions)
    establish(kubectl, files.definitions)
    assert verbs_of(kubectl.run("apply", "-f", files.small_definitions)) == {"unchanged"}

    assert verbs_of(kubectl.run("apply", "-f", files.objects)) == {"created"}
    before = items(kubectl, files.objects)
    expected = [
        "configured" if has_longer_lists(live, applied) else "unchanged"
        for live, applied in zip(before, files.project.objects, strict=True)
    ]
    assert verb_of_each(kubectl.run("apply", "-f", files.objects)) == expected
    assert items(kubectl, files.objects) == before
    assert kubectl.run("diff", "-f", files.objects) == ""

    assert verbs_of(kubectl.run("apply", "-f", files.changed_objects)) == {"configured"}
    assert_contain(items(kubectl, files.changed_objects), files.project.changed_objects)
    later = files.write("later", changed(small))
    assert verbs_of(kubectl.run("apply", "-f", later)) == {"configured"}
    assert verbs_of(kubectl.run("apply", "-f", later)) == {"unchanged"}


def test_server_side_apply_creates_then_changes_nothing_then_changes(files, clean_kubectl):
    kubectl = clean_kubectl

    def apply(path):
        assert verbs_of(kubectl.run("apply", "--server-side", "-f", path)) == {"serverside-applied"}
        return items(kubectl, path)

    apply(files.definitions)
    establish(kubectl, files.definitions)
    definitions = items(kubectl, files.definitions)
    assert versions_of(apply(files.definitions)) == versions_of(definitions)
    owned = owned_by_kubectl(kubectl, files.definitions)
    assert [fields["f:spec"]["f:versions"] for fields in owned] == [{}] * len(definitions)

    live = apply(files.objects)
    assert versions_of(apply(files.objects)) == versions_of(live)
    assert kubectl.run("diff", "--server-side", "-f", files.objects) == ""
    kubectl.run("diff", "--server-side", "-f", files.changed_objects, code=1)
    assert_contain(apply(files.changed_objects), files.project.changed_objects)
    back = apply(files.objects)
    assert [item["spec"] for item in back] == [item["spec"] for item in live]

    later = files.write("later", changed(files.project.definitions))
    live = apply(later)
    assert versions_of(apply(later)) == versions_of(live)
    assert all(item["metadata"]["labels"] == CHANGED_LABELS for item in live)


@pytest.mark.parametrize("files", ["argo-cd"], indirect=True)
def test_client_side_apply_refuses_definition_that_no_annotation_can_hold(files, clean_kubectl):
    refusal = clean_kubectl.run("apply", "-f", files.large_definitions, code=1)
    assert "metadata.annotations: Too long: may not be more than 262144 bytes" in refusal


@pytest.mark.parametrize("files", ["flux"], indirect=True)
def test_server_side_apply_owns_keys_of_untyped_values_apart(files, clean_kubectl):
    kubectl = clean_kubectl
    kubectl.run("apply", "--server-side", "-f", files.definitions)
    establish(kubectl, files.definitions)
    (release,) = [item for item in files.project.objects if item["kind"] == "HelmRelease"]
    other = {key: release[key] for key in ("apiVersion", "kind", "metadata")} | {
        "spec": {**release["spec"], "values": {"image": {"pullPolicy": "Always"}, "sidecar": [1]}}
    }
    for manager, obj in (("one", release), ("two", other)):
        path = files.write(manager, [obj])
        kubectl.run("apply", "--server-side", f"--field-manager={manager}", "-f", path)
    live = json.loads(kubectl.run("get", "helmrelease", "shop", "-o", "json", "--show-managed-fields"))
    assert live["spec"]["values"]["image"] == {"tag": "v1", "pullPolicy": "Always"}
    owned = {owner["manager"]: owner["fieldsV1"]["f:spec"] for owner in live["metadata"]["managedFields"]}
    assert owned["two"]["f:values"] == {"f:image": {".": {}, "f:pullPolicy": {}}, "f:sidecar": {}}
    assert owned["one"]["f:values"]["f:hosts"] == {}


def test_suite_holds_ten_projects_and_a_schema_of_more_than_500_kb():
    sizes = [len(json.dumps(definition)) for name in PROJECTS for definition in project(name).definitions]
    assert len(PROJECTS) >= 10
    assert max(sizes) > 500_000
