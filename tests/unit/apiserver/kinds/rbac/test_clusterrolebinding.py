from __future__ import annotations

from tests.unit.apiserver.kinds.samples import CONTEXT, defaulted, named, texts

from steersman.apiserver.kinds.rbac.clusterrolebinding import ClusterRoleBindingStrategy

STRATEGY = ClusterRoleBindingStrategy()


def faults(kind: str, **subject: str) -> list[str]:
    binding = named(roleRef={"kind": kind, "name": "r"}, subjects=[{"kind": "ServiceAccount", "name": "s", **subject}])
    return texts(STRATEGY.validate(CONTEXT, defaulted(STRATEGY, binding)))


def test_a_cluster_role_is_given_to_an_account():
    assert faults("ClusterRole", namespace="n") == []


def test_roles_of_a_namespace_are_not_given_everywhere():
    assert faults("Role", namespace="n") == ['roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"']


def test_a_service_account_names_its_namespace():
    assert faults("ClusterRole") == ["subjects[0].namespace: Required value"]


def test_the_names_of_service_accounts_are_those_of_dns():
    [fault] = faults("ClusterRole", namespace="n", name="A")
    assert fault.startswith('subjects[0].name: Invalid value: "A": a lowercase RFC 1123 subdomain')
