"""Cost of authorization: the same GET by the same user, with RBAC and many roles, and with AlwaysAllow."""

from __future__ import annotations

import dataclasses
import json
import statistics
from typing import TYPE_CHECKING, Any

from benchmarks.rates import NAMESPACE, config_map, fill, paired, rate
from benchmarks.servers import READER_TOKEN, api_server

if TYPE_CHECKING:
    from benchmarks.client import Result, Target
    from benchmarks.rates import Report

RBAC = "/apis/rbac.authorization.k8s.io/v1"
GROUP = "rbac.authorization.k8s.io"
#: Number of ClusterRoles, of Roles, and of their bindings each.
ROLES = 100
BINDINGS = 500


def role(name: str) -> bytes:
    number = name.rpartition("-")[2]
    rules = [
        {"apiGroups": [""], "resources": ["configmaps", "secrets"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": ["apps"], "resources": [f"things{number}"], "verbs": ["*"]},
    ]
    return json.dumps({"metadata": {"name": name}, "rules": rules}).encode()


def binding(kind: str, prefix: str) -> Any:
    """Create bindings of users in turn; the last one's user is the reader."""

    def make(name: str) -> bytes:
        number = int(name.rpartition("-")[2])
        user = "reader" if number == BINDINGS - 1 else f"user-{number}"
        subjects = [{"apiGroup": GROUP, "kind": "User", "name": user}]
        subjects.append({"apiGroup": GROUP, "kind": "Group", "name": f"group-{number % 50}"})
        reference = {"apiGroup": GROUP, "kind": kind, "name": f"{prefix}-{number % ROLES}"}
        return json.dumps({"metadata": {"name": name}, "roleRef": reference, "subjects": subjects}).encode()

    return make


def _fill(target: Target) -> None:
    fill(target, f"{RBAC}/clusterroles", role, ROLES, "c")
    fill(target, f"{RBAC}{NAMESPACE.removeprefix('/api/v1')}/roles", role, ROLES, "r")
    fill(target, f"{RBAC}/clusterrolebindings", binding("ClusterRole", "c"), BINDINGS - 1, "cb")
    fill(target, f"{RBAC}{NAMESPACE.removeprefix('/api/v1')}/rolebindings", binding("Role", "r"), BINDINGS, "rb")
    fill(target, f"{NAMESPACE}/configmaps", config_map, 1, "get")


def measure_rbac(report: Report, seconds: float) -> None:
    with api_server() as decided, api_server(extra=("--authorization-mode=AlwaysAllow",)) as allowed:
        for server in (decided, allowed):
            _fill(server.target)
        readers = [dataclasses.replace(server.target, token=READER_TOKEN) for server in (decided, allowed)]
        requests = [reader.request("GET", f"{NAMESPACE}/configmaps/get-0") for reader in readers]

        def reads(position: int) -> Result:
            return rate(readers[position], lambda: requests[position], seconds)

        ours, theirs = paired(lambda: reads(0), lambda: reads(1), 5)
    cost = 1 - statistics.median(a.rate / b.rate for a, b in zip(ours, theirs, strict=True))
    mine, plain = statistics.median(r.rate for r in ours), statistics.median(r.rate for r in theirs)
    text = f"{mine:8.0f}/s  AlwaysAllow {plain:8.0f}/s  costs {cost:5.1%} (≤ 5 %)"
    report.line("GET, 200 roles, 1,000 bindings", text, is_met=cost <= 0.05)
