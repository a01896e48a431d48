from __future__ import annotations

from tests.unit.apiserver.kinds.samples import CONTEXT, defaulted, named, texts

from steersman.apiserver.kinds.rbac.clusterrolebinding import ClusterRoleBindingStrategy

STRATEGY = ClusterRoleBindingStrategy()


def faults(kind: str, **subject: str) -> list[str]:
    binding = named(roleRef={"kind": kind, "name": "r"}, subjects=[{"kind": "ServiceAccount", "name": "s", **subject}])
    return texts(STRATEGY.validate(CONTEXT, defaulted(STRATEGY, binding)))


def test_validate_accepts_cluster_role_for_service_account():
    assert faults("ClusterRole", namespace="n") == []


def test_validate_rejects_role_ref_to_role():
    assert faults("Role", namespace="n") == ['roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"']


def test_validate_requires_namespace_of_service_account():
    assert faults("ClusterRole") == ["subjects[0].namespace: Required value"]


def test_validate_requires_dns_subdomain_as_service_account_name():
    [fault] = faults("ClusterRole", namespace="n", name="A")
    assert fault.startswith('subjects[0].name: Invalid value: "A": a lowercase RFC 1123 subdomain')
