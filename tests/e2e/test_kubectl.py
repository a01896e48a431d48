"""kubectl of this machine against a started server."""

import json
import stat

import pytest
import yaml
from tests.busy_machine import HANG_SECONDS
from tests.e2e.conftest import MANIFESTS

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: main, image: "nginx:1.25", env: [{name: A, value: "1"}]}
      - {name: side, image: "busybox:1"}
"""

#: kubectl sends a patch for these whatever is there: stringData is never read back, and lists without merge keys are
#: compared as they were before the server filled in defaults.
ALWAYS_SENT = {
    "secret/db-password",
    "statefulset.apps/db",
    "networkpolicy.networking.k8s.io/db",
    "poddisruptionbudget.policy/web",
}


@pytest.fixture
def web(kubectl):
    kubectl.run("apply", "-f", "-", stdin=DEPLOYMENT)
    return kubectl


def test_version_prints_client_and_server(admin):
    server = json.loads(admin.run("version", "-o", "json"))["serverVersion"]
    assert (server["major"], server["minor"]) == ("1", "36")


def test_api_resources_prints_short_names(admin):
    lines = admin.run("api-resources").splitlines()
    deployments = next(line for line in lines if line.startswith("deployments"))
    assert deployments.split() == ["deployments", "deploy", "apps/v1", "true", "Deployment"]


def test_api_versions_lists_group_versions(admin):
    assert {"v1", "apps/v1", "coordination.k8s.io/v1beta1"} <= set(admin.run("api-versions").split())


def test_root_path_lists_served_paths(admin):
    paths = json.loads(admin.run("get", "--raw", "/"))["paths"]
    assert {"/api/v1", "/apis/apps/v1", "/healthz", "/metrics", "/openapi/v2", "/version"} <= set(paths)


def test_readyz_verbose_lists_checks(admin):
    assert "[+]ping ok" in admin.run("get", "--raw", "/readyz?verbose")


def test_configmap_is_created_from_literals_and_read_in_every_format(kubectl):
    kubectl.run("create", "configmap", "settings", "--from-literal=a=1", "--from-literal=b=2")
    assert yaml.safe_load(kubectl.run("get", "cm", "settings", "-o", "yaml"))["data"] == {"a": "1", "b": "2"}
    assert kubectl.run("get", "cm", "settings", "-o", "jsonpath={.data.b}") == "2"
    custom = kubectl.run("get", "cm", "settings", "-o", "custom-columns=N:.metadata.name,A:.data.a")
    assert custom.split() == ["N", "A", "settings", "1"]
    assert kubectl.run("get", "cm", "settings", "-o", "name") == "configmap/settings\n"


def test_get_wide_prints_columns_of_lower_priority(web):
    header, row = web.run("get", "deployment", "web", "-o", "wide").splitlines()
    assert header.split() == ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE", "CONTAINERS", "IMAGES", "SELECTOR"]
    assert "main,side" in row
    assert "nginx:1.25,busybox:1" in row


def test_get_reports_not_found(kubectl):
    assert 'Error from server (NotFound): pods "none" not found' in kubectl.run("get", "pod", "none", code=1)


def test_apply_of_a_large_manifest_is_unchanged_when_repeated(admin):
    manifest = str(MANIFESTS / "shop.yaml")
    first = admin.run("apply", "-f", manifest).splitlines()
    assert len(first) == 36
    assert all(line.endswith(("created", "configured")) for line in first)
    versions = admin.run("get", "-f", manifest, "-o", "jsonpath={.items[*].metadata.resourceVersion}")
    second = admin.run("apply", "-f", manifest).splitlines()
    assert {line.split()[0] for line in second if not line.endswith("unchanged")} <= ALWAYS_SENT
    assert admin.run("get", "-f", manifest, "-o", "jsonpath={.items[*].metadata.resourceVersion}") == versions
    assert admin.run("diff", "-f", manifest) == ""
    listed = admin.run("get", "all", "-n", "shop").split()
    assert {"deployment.apps/web", "statefulset.apps/db", "service/cart", "cronjob.batch/report"} <= set(listed)


def test_server_side_apply_accepts_the_same_manifest(admin):
    manifest = (MANIFESTS / "shop.yaml").read_text().replace("shop", "mart")
    applied = admin.run("apply", "--server-side", "-f", "-", stdin=manifest).splitlines()
    assert all(line.endswith("serverside-applied") for line in applied)
    again = admin.run("apply", "--server-side", "-f", "-", stdin=manifest).splitlines()
    assert len(again) == len(applied) == 36


def test_server_side_apply_reports_the_owner_of_a_field(web):
    changed = DEPLOYMENT.replace("nginx:1.25", "nginx:1.26")
    text = web.run("apply", "--server-side", "--field-manager=other", "-f", "-", stdin=changed, code=1)
    assert "conflict" in text
    assert "kubectl-client-side-apply" in text
    web.run("apply", "--server-side", "--field-manager=other", "--force-conflicts", "-f", "-", stdin=changed)
    assert web.get("deploy", "web")["spec"]["template"]["spec"]["containers"][0]["image"] == "nginx:1.26"


def test_diff_prints_pending_changes(web):
    text = web.run("diff", "-f", "-", stdin=DEPLOYMENT.replace("replicas: 2", "replicas: 5"), code=1)
    assert "-  replicas: 2" in text
    assert "+  replicas: 5" in text
    assert web.get("deploy", "web")["spec"]["replicas"] == 2


def test_apply_removes_an_omitted_field(web):
    web.run("apply", "-f", "-", stdin=DEPLOYMENT.replace(', env: [{name: A, value: "1"}]', ""))
    assert "env" not in web.get("deploy", "web")["spec"]["template"]["spec"]["containers"][0]


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        ("strategic", '{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"busybox:2"}]}}}}'),
        ("json", '[{"op":"replace","path":"/spec/template/spec/containers/1/image","value":"busybox:2"}]'),
    ],
)
def test_strategic_merge_patch_changes_one_of_two_containers(web, kind, patch):
    web.run("patch", "deployment", "web", "--type", kind, "-p", patch)
    containers = web.get("deploy", "web")["spec"]["template"]["spec"]["containers"]
    assert [c["image"] for c in containers] == ["nginx:1.25", "busybox:2"]


def test_merge_patch_replaces_lists(web):
    web.run("patch", "deploy", "web", "--type=merge", "-p", '{"metadata":{"labels":{"x":"y"}},"spec":{"replicas":4}}')
    tree = web.get("deploy", "web")
    assert (tree["metadata"]["labels"], tree["spec"]["replicas"]) == ({"x": "y"}, 4)


def test_label_and_annotate_add_and_remove(web):
    web.run("label", "deploy", "web", "tier=front")
    web.run("annotate", "deploy", "web", "note=hello there")
    assert web.run("get", "deploy", "-l", "tier=front", "-o", "name") == "deployment.apps/web\n"
    assert web.run("label", "deploy", "web", "tier=back", code=1)
    web.run("label", "deploy", "web", "tier=back", "--overwrite")
    web.run("label", "deploy", "web", "tier-")
    assert "tier" not in web.get("deploy", "web")["metadata"].get("labels", {})


def test_edit_changes_an_object(web, tmp_path):
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i "s/replicas: 2/replicas: 7/" "$1"\n')
    editor.chmod(editor.stat().st_mode | stat.S_IEXEC)
    web.run("edit", "deploy", "web", KUBE_EDITOR=str(editor))
    assert web.get("deploy", "web")["spec"]["replicas"] == 7


def test_scale_writes_through_the_subresource(web):
    web.run("scale", "deploy", "web", "--replicas=5")
    assert web.get("deploy", "web")["spec"]["replicas"] == 5
    assert "Expected replicas to be 1, was 5" in web.run(
        "scale", "deploy", "web", "--replicas=2", "--current-replicas=1", code=1
    )


def test_explain_prints_fields_with_descriptions(admin):
    text = admin.run("explain", "deployment.spec.strategy.rollingUpdate")
    assert "maxSurge" in text
    assert "<IntOrString>" in text
    assert "DESCRIPTION" in text


def test_explain_recursive_prints_the_whole_tree(admin):
    text = admin.run("explain", "pod", "--recursive")
    assert "livenessProbe\t<Probe>" in text
    assert "tolerationSeconds\t<integer>" in text


def test_validation_rejects_unknown_fields(kubectl):
    text = kubectl.run("create", "-f", "-", stdin=DEPLOYMENT.replace("replicas: 2", "replica: 2"), code=1)
    assert 'unknown field "spec.replica"' in text


def test_create_rejects_invalid_objects(kubectl):
    text = kubectl.run("create", "-f", "-", stdin=DEPLOYMENT.replace("replicas: 2", "replicas: two"), code=1)
    assert "cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32" in text


def test_replace_conflicts_at_an_old_resource_version(web):
    tree = web.get("deploy", "web")
    tree["metadata"]["resourceVersion"] = "1"
    assert "the object has been modified" in web.run("replace", "-f", "-", stdin=json.dumps(tree), code=1)
    del tree["metadata"]["resourceVersion"]
    tree["spec"]["replicas"] = 9
    web.run("replace", "-f", "-", stdin=json.dumps(tree))
    assert web.get("deploy", "web")["spec"]["replicas"] == 9


def test_dry_run_stores_nothing(kubectl):
    out = kubectl.run("apply", "--dry-run=server", "-f", "-", stdin=DEPLOYMENT)
    assert out == "deployment.apps/web created (server dry run)\n"
    assert kubectl.get("deploy")["items"] == []


def test_watch_prints_changes(kubectl):
    columns = "custom-columns=N:.metadata.name,K:.data.k"
    with kubectl.start("get", "cm", "-w", "-o", columns, "--no-headers") as watch:
        kubectl.run("create", "cm", "watched", "--from-literal=k=1")
        assert watch.stdout.readline().split() == ["watched", "1"]
        kubectl.run("patch", "cm", "watched", "-p", '{"data":{"k":"2"}}')
        assert watch.stdout.readline().split() == ["watched", "2"]


def test_wait_returns_when_the_condition_is_met(web):
    condition = {"type": "Available", "status": "True", "reason": "R", "message": "m"}
    patch = {"status": {"conditions": [condition]}}
    with web.start("wait", "deploy/web", "--for=condition=Available", f"--timeout={HANG_SECONDS}s") as wait:
        web.run("patch", "deploy", "web", "--subresource=status", "--type=merge", "-p", json.dumps(patch))
        assert wait.communicate(timeout=HANG_SECONDS)[0] == "deployment.apps/web condition met\n"


def test_delete_waits_for_the_last_finalizer(kubectl):
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "held", "finalizers": ["example.com/hold"]}}
    kubectl.run("create", "-f", "-", stdin=json.dumps(body))
    with kubectl.start("delete", "cm", "held", "--wait") as delete:
        watched = kubectl.run(
            "wait", "cm/held", "--for=jsonpath={.metadata.deletionTimestamp}", f"--timeout={HANG_SECONDS}s"
        )
        assert "condition met" in watched
        kubectl.run("patch", "cm", "held", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
        assert delete.communicate(timeout=HANG_SECONDS)[0] == 'configmap "held" deleted\n'
    assert kubectl.get("cm")["items"] == []


def test_delete_by_label_removes_all_matches(web):
    web.run("create", "service", "clusterip", "web", "--tcp=80:8080")
    web.run("label", "deploy,svc", "web", "app=web")
    web.run("delete", "deploy,svc", "-l", "app=web")
    assert web.run("get", "deploy,svc", "-o", "name") == ""


def test_get_joins_the_pages_of_a_list(kubectl):
    documents = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{n:02}"}} for n in range(25)]
    kubectl.run("create", "-f", "-", stdin=yaml.safe_dump_all(documents))
    assert len(kubectl.run("get", "cm", "--chunk-size=4", "-o", "name").splitlines()) == 25


def test_service_allocates_and_releases_its_cluster_ip(kubectl):
    kubectl.run("create", "service", "clusterip", "a", "--tcp=80:80")
    address = kubectl.get("svc", "a")["spec"]["clusterIP"]
    assert address.startswith("10.0.0.")
    kubectl.run("delete", "svc", "a")
    kubectl.run("create", "service", "clusterip", "b", "--tcp=80:80", f"--clusterip={address}")
    assert kubectl.get("svc", "b")["spec"]["clusterIP"] == address


def test_apply_of_a_custom_resource_is_unchanged_when_repeated(kubectl):
    kubectl.run("apply", "-f", str(MANIFESTS / "gadgets.yaml"))
    kubectl.run("wait", "crd/gadgets.example.com", "--for=condition=Established", f"--timeout={HANG_SECONDS}s")
    gadget = {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "again"}, "spec": {"size": 3}}
    for size, outcome in ((3, "created"), (4, "configured"), (4, "unchanged")):
        gadget["spec"] = {"size": size}
        assert outcome in kubectl.run("apply", "-f", "-", stdin=json.dumps(gadget))
    assert kubectl.get("gadget", "again")["spec"]["size"] == 4


def test_custom_resource_is_served_once_defined(kubectl):
    definition = yaml.safe_load((MANIFESTS / "gadgets.yaml").read_text())
    kubectl.run("apply", "-f", str(MANIFESTS / "gadgets.yaml"))
    kubectl.run("wait", "crd/gadgets.example.com", "--for=condition=Established", f"--timeout={HANG_SECONDS}s")
    gadget = {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "g"}, "spec": {"size": 3}}
    kubectl.run("create", "-f", "-", stdin=json.dumps(gadget))
    header, row = kubectl.run("get", "gadgets").splitlines()
    assert (header.split(), row.split()[:3]) == (["NAME", "SIZE", "COLOR", "AGE"], ["g", "3", "grey"])
    refused = kubectl.run(
        "create", "-f", "-", stdin=json.dumps(gadget | {"metadata": {"name": "h"}, "spec": {"size": "x"}}), code=1
    )
    assert "must be of type integer" in refused
    assert "FIELDS" in kubectl.run("explain", "gadget.spec")
    assert definition["spec"]["names"]["kind"] == "Gadget"
