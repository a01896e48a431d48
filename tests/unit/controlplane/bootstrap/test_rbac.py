"""The roles and bindings of every cluster."""

import json

from steersman.controlplane.bootstrap import rbac
from steersman.controlplane.bootstrap.rbac import bootstrap_roles, read_policy

API = "/apis/rbac.authorization.k8s.io/v1"
TABLE = """
# a remark
ClusterRole viewer part-of=edit collects=view
    core apps | pods pods/log / a b : get list
    /healthz /livez/* : get

Role ns/local
    core | secrets : get
controller some-controller
    batch | jobs : update
ClusterRoleBinding viewer : Group=g User=u
RoleBinding ns/other of=local : ServiceAccount=ns/s
ClusterRoleBinding nobody :
"""


def test_default_roles_are_read_from_the_table():
    objects = {(tree["kind"], tree["metadata"]["name"]): tree for tree in read_policy(TABLE)}
    viewer = objects["ClusterRole", "viewer"]
    assert viewer["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-edit"] == "true"
    assert viewer["aggregationRule"]["clusterRoleSelectors"][0]["matchLabels"] == {
        "rbac.authorization.k8s.io/aggregate-to-view": "true"
    }
    assert viewer["rules"] == [
        {
            "verbs": ["get", "list"],
            "apiGroups": ["", "apps"],
            "resources": ["pods", "pods/log"],
            "resourceNames": ["a", "b"],
        },
        {"verbs": ["get"], "nonResourceURLs": ["/healthz", "/livez/*"]},
    ]
    assert objects["Role", "local"]["metadata"]["namespace"] == "ns"
    account = {"kind": "ServiceAccount", "name": "some-controller", "namespace": "kube-system"}
    assert objects["ClusterRoleBinding", "system:controller:some-controller"]["subjects"] == [account]
    assert objects["ClusterRole", "system:controller:some-controller"]["rules"][0]["resources"] == ["jobs"]
    assert objects["RoleBinding", "other"]["roleRef"]["name"] == "local"
    assert [s["name"] for s in objects["ClusterRoleBinding", "viewer"]["subjects"]] == ["g", "u"]
    assert "subjects" not in objects["ClusterRoleBinding", "nobody"]


async def changed(server, path, change):
    tree = (await server.request("GET", path)).json()
    change(tree)
    assert (await server.request("PUT", path, body=json.dumps(tree).encode())).code == 200


async def get(server, path):
    return (await server.request("GET", path)).json()


async def test_reconcile_adds_missing_rules_and_keeps_others(server):
    role = f"{API}/clusterroles/system:discovery"
    extra = {"verbs": ["get"], "nonResourceURLs": ["/mine"]}
    await changed(server, role, lambda tree: tree.update(rules=[extra]))
    binding = f"{API}/clusterrolebindings/system:discovery"
    await changed(server, binding, lambda tree: tree.update(subjects=[{"kind": "User", "name": "u"}]))
    await bootstrap_roles(server.core.client)
    rules = (await get(server, role))["rules"]
    assert rules[0] == extra
    assert {"verbs": ["get"], "nonResourceURLs": ["/openapi/*"]} in rules
    assert [s["name"] for s in (await get(server, binding))["subjects"]] == ["u", "system:authenticated"]


async def test_second_start_writes_no_roles(server):
    before = server.store.revision
    await bootstrap_roles(server.core.client)
    assert server.store.revision == before


async def test_reconcile_ignores_objects_with_autoupdate_false(server):
    role = f"{API}/clusterroles/system:discovery"

    def stop(tree):
        tree["rules"] = []
        tree["metadata"]["annotations"]["rbac.authorization.kubernetes.io/autoupdate"] = "false"

    await changed(server, role, stop)
    await bootstrap_roles(server.core.client)
    assert not (await get(server, role))["rules"]


async def test_reconcile_recreates_a_binding_to_another_role(server):
    path = f"{API}/clusterrolebindings/system:discovery"
    await server.request("DELETE", path)
    other = {"metadata": {"name": "system:discovery"}, "roleRef": {"kind": "ClusterRole", "name": "view"}}
    body = json.dumps(other).encode()
    assert (await server.request("POST", f"{API}/clusterrolebindings", body=body)).code == 201
    await bootstrap_roles(server.core.client)
    assert (await get(server, path))["roleRef"]["name"] == "system:discovery"


async def test_reconcile_adds_only_the_removed_permission(server):
    role = f"{API}/clusterroles/system:kube-dns"

    def remove(tree):
        tree["rules"][0]["verbs"].remove("watch")
        tree["rules"][0]["resources"].reverse()

    rule = (await get(server, role))["rules"][0]
    await changed(server, role, remove)
    await bootstrap_roles(server.core.client)
    rules = (await get(server, role))["rules"]
    assert rules[0]["verbs"] == [verb for verb in rule["verbs"] if verb != "watch"]
    assert rules[1:] == [
        {"verbs": ["watch"], "apiGroups": [""], "resources": [resource]} for resource in rule["resources"]
    ]


async def test_reconcile_adds_nothing_to_a_rule_with_wildcards(server):
    role = f"{API}/clusterroles/system:kube-dns"
    rules = [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]
    await changed(server, role, lambda tree: tree.update(rules=rules))
    await bootstrap_roles(server.core.client)
    assert (await get(server, role))["rules"] == rules


def test_missing_permissions_are_those_that_no_rule_covers():
    wide = {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods", "secrets"]}
    narrow = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"]}
    assert list(rbac._missing([wide], [narrow])) == []
    assert list(rbac._missing([narrow], [{**narrow, "resourceNames": ["a", "b"]}])) == [
        {**narrow, "resourceNames": ["b"]}
    ]
    assert list(rbac._missing([{**wide, "verbs": ["get"]}], [wide])) == [
        {"verbs": ["list"], "apiGroups": [""], "resources": [resource]} for resource in ("pods", "secrets")
    ]
