"""Authorizers without stored rules."""

import pytest

from steersman.apiserver.authz.interface import Decision, Rules, Verdict, refusal
from steersman.apiserver.authz.modes import AlwaysAllow, AlwaysDeny, Chain, PrivilegedGroups
from steersman.apiserver.request import RequestInfo, UserInfo

ANONYMOUS = UserInfo("system:anonymous", ("system:unauthenticated",))
ALICE = UserInfo("alice", ("system:authenticated",))
ADMIN = UserInfo("root", ("system:masters", "system:authenticated"))
PODS = RequestInfo("list", "/api/v1/pods", True, "", "v1", resource="pods")


def get(path: str) -> RequestInfo:
    return RequestInfo("get", path)


@pytest.mark.parametrize("info", [PODS, get("/metrics"), RequestInfo("post", "/version")])
def test_privileged_groups_allow_system_masters(info):
    chain = Chain([PrivilegedGroups(), AlwaysDeny()])
    assert not chain.authorize(ALICE, info).allowed
    assert chain.authorize(ADMIN, info).allowed


def test_chain_merges_rules_of_resolvers():
    class Partly:
        def rules_for(self, user, namespace):
            return Rules((), incomplete=True, error="cannot say")

    chain = Chain([], resolvers=[AlwaysAllow(), AlwaysDeny(), Partly()])
    rules = chain.rules_for(ALICE, "ns")
    assert len(rules.rules) == 2
    assert (rules.incomplete, rules.error) == (True, "cannot say")


def test_always_allow_and_always_deny():
    assert AlwaysAllow().authorize(ANONYMOUS, PODS).allowed
    denied = Chain([PrivilegedGroups(), AlwaysDeny()]).authorize(ALICE, get("/healthz"))
    assert (denied.allowed, denied.reason) == (False, "Everything is forbidden.")


def test_chain_ends_at_denial():
    class Denies:
        def authorize(self, user, info):
            return Decision(Verdict.DENY, "because")

    assert Chain([Denies(), AlwaysAllow()]).authorize(ADMIN, PODS) == Decision(Verdict.DENY, "because")


def test_refusal_has_user_verb_and_resource():
    assert refusal(ANONYMOUS, get("/x")).message == 'forbidden: User "system:anonymous" cannot get path "/x"'
    assert refusal(ALICE, PODS).message == (
        'pods is forbidden: User "alice" cannot list resource "pods" in API group "" at the cluster scope'
    )
    info = RequestInfo("create", "", True, "apps", "v1", "ns", "deployments", "a", "scale")
    refused = refusal(ALICE, info, "not today")
    assert refused.message == (
        'deployments.apps "a" is forbidden: User "alice" cannot create resource "deployments/scale"'
        ' in API group "apps" in the namespace "ns": not today'
    )
    assert refused.details == {"name": "a", "group": "apps", "kind": "deployments"}
