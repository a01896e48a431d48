"""Authorization of proxying for anonymous users."""

import pytest

from steersman.apiserver.authz.interface import NO_OPINION, Decision, Verdict
from steersman.apiserver.authz.modes import AlwaysAllow
from steersman.apiserver.authz.unsafe_proxy import UnsafeProxy
from steersman.apiserver.request import RequestInfo, UserInfo

ANONYMOUS = UserInfo("system:anonymous", ("system:unauthenticated",))
ALICE = UserInfo("alice", ("system:authenticated",))


class Recorder:
    """Authorizer that records the requested subresources."""

    def __init__(self, decision=NO_OPINION):
        self.decision = decision
        self.subresources = []

    def authorize(self, user, info):
        self.subresources.append(info.subresource)
        return self.decision


def subresource(resource, name, *, verb="get"):
    return RequestInfo(verb, f"/{resource}/{name}", True, "", "v1", "ns", resource, "x", name)


@pytest.mark.parametrize("resource", ["pods", "services", "nodes"])
@pytest.mark.parametrize("verb", ["get", "create", "delete"])
def test_unsafe_proxy_changes_the_subresource_of_anonymous_proxy_requests(resource, verb):
    delegate = Recorder()
    decision = UnsafeProxy(delegate).authorize(ANONYMOUS, subresource(resource, "proxy", verb=verb))
    assert delegate.subresources == ["unsafeproxy"]
    assert decision == Decision(Verdict.NO_OPINION, "proxy subresource changed to unsafeproxy")


@pytest.mark.parametrize("name", ["", "log", "exec", "attach", "portforward", "status"])
def test_unsafe_proxy_keeps_other_subresources(name):
    delegate = Recorder()
    assert UnsafeProxy(delegate).authorize(ANONYMOUS, subresource("pods", name)) is NO_OPINION
    assert delegate.subresources == [name]


def test_unsafe_proxy_skips_authenticated_users():
    delegate = Recorder()
    UnsafeProxy(delegate).authorize(ALICE, subresource("pods", "proxy"))
    assert delegate.subresources == ["proxy"]


@pytest.mark.parametrize(
    "user", [UserInfo("system:anonymous"), UserInfo("bob", ("system:unauthenticated",))], ids=["by name", "by group"]
)
def test_unsafe_proxy_recognises_anonymous_users_by_name_and_group(user):
    delegate = Recorder()
    UnsafeProxy(delegate).authorize(user, subresource("pods", "proxy"))
    assert delegate.subresources == ["unsafeproxy"]


def test_unsafe_proxy_appends_to_reason_of_delegate():
    delegate = Recorder(Decision(Verdict.DENY, "no"))
    decision = UnsafeProxy(delegate).authorize(ANONYMOUS, subresource("pods", "proxy"))
    assert decision == Decision(Verdict.DENY, "no, proxy subresource changed to unsafeproxy")


def test_unsafe_proxy_returns_allowing_decision():
    assert UnsafeProxy(AlwaysAllow()).authorize(ANONYMOUS, subresource("pods", "proxy")).allowed
