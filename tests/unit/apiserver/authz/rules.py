"""RBAC index and helpers to fill it."""

from __future__ import annotations

import msgspec

from steersman.apiserver.authz.rbac_index import RBACIndex


def role(index: RBACIndex, name: str, *rules: dict, namespace: str = "") -> None:
    index.put_role(namespace, name, msgspec.json.encode({"metadata": {}, "rules": list(rules)}))


def bind(index: RBACIndex, name: str, *subjects: dict, namespace: str = "", kind: str = "", to: str = "") -> None:
    kind = kind or ("Role" if namespace else "ClusterRole")
    tree = {"metadata": {}, "roleRef": {"kind": kind, "name": to or name}, "subjects": list(subjects)}
    index.put_binding(namespace, name, msgspec.json.encode(tree))


def rule(verbs: str, resources: str, *, groups: str = "core", names: str = "") -> dict:
    return {
        "verbs": verbs.split(),
        "apiGroups": [group.replace("core", "") for group in groups.split()],
        "resources": resources.split(),
        "resourceNames": names.split(),
    }


def user(name: str) -> dict:
    return {"kind": "User", "name": name}


def group(name: str) -> dict:
    return {"kind": "Group", "name": name}


def account(name: str, namespace: str = "") -> dict:
    return {"kind": "ServiceAccount", "name": name, "namespace": namespace}
