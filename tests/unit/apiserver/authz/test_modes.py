"""Authorizers that need no stored rules."""

import pytest

from steersman.apiserver.authz.interface import Decision, Verdict, refusal
from steersman.apiserver.authz.modes import AlwaysAllow, AlwaysDeny, Chain, PrivilegedGroups, PublicInfo
from steersman.apiserver.request import RequestInfo, UserInfo

ANONYMOUS = UserInfo("system:anonymous", ("system:unauthenticated",))
ALICE = UserInfo("alice", ("system:authenticated",))
ADMIN = UserInfo("root", ("system:masters", "system:authenticated"))
PODS = RequestInfo("list", "/api/v1/pods", True, "", "v1", resource="pods")
GROUPS = Chain([PrivilegedGroups(), PublicInfo()])


def get(path: str) -> RequestInfo:
    return RequestInfo("get", path)


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/version"])
def test_everybody_reads_health_and_version(path):
    assert GROUPS.authorize(ANONYMOUS, get(path)).allowed


@pytest.mark.parametrize("path", ["/livez/ping", "/metrics", "/api", "/apis/apps/v1", "/nothing"])
def test_the_anonymous_read_nothing_else(path):
    assert not GROUPS.authorize(ANONYMOUS, get(path)).allowed


@pytest.mark.parametrize("path", ["/api", "/apis/apps/v1", "/openapi/v3/api/v1", "/healthz"])
def test_the_known_read_discovery(path):
    assert GROUPS.authorize(ALICE, get(path)).allowed


@pytest.mark.parametrize("info", [PODS, get("/metrics"), RequestInfo("post", "/version")])
def test_only_masters_do_more(info):
    assert not GROUPS.authorize(ALICE, info).allowed
    assert GROUPS.authorize(ADMIN, info).allowed


def test_always_allow_and_always_deny():
    assert AlwaysAllow().authorize(ANONYMOUS, PODS).allowed
    denied = Chain([PrivilegedGroups(), AlwaysDeny()]).authorize(ALICE, get("/healthz"))
    assert (denied.allowed, denied.reason) == (False, "Everything is forbidden.")


def test_a_denial_ends_the_chain():
    class Denies:
        def authorize(self, user, info):
            return Decision(Verdict.DENY, "because")

    assert Chain([Denies(), AlwaysAllow()]).authorize(ADMIN, PODS) == Decision(Verdict.DENY, "because")


def test_a_refusal_names_user_verb_and_what_for():
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
