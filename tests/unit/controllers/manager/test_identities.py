"""Client identities of controllers."""

from __future__ import annotations

import asyncio

import pytest

from steersman.client import Client, tree
from steersman.client.actions import ACTIONS, Actions
from steersman.client.credentials import ConfigError
from steersman.client.errors import from_status
from steersman.client.transport import Response
from steersman.controllers.manager.identities import NAMESPACE, AccountTokens, OneIdentity, user_agent
from steersman.controllers.manager.options import ManagerOptions


class Transport:
    """Answers discovery-free requests, and keeps them."""

    host = "host"

    def __init__(self):
        self.requests = []
        self.closed = 0

    async def request(self, request):
        self.requests.append(request)
        return Response(200, {}, b'{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}')

    async def close(self):
        self.closed += 1


def bearer(identity):
    return dict(identity.headers)["authorization"].removeprefix("Bearer ")


async def test_shared_identity_has_distinct_user_agents(clock):
    transport = Transport()
    identities = OneIdentity(transport, ManagerOptions(), clock=clock)
    for client in (identities.root(), identities.client("some-controller")):
        await client.get(tree("v1", "Pod"), "p")
    assert [request.headers["user-agent"] for request in transport.requests] == [
        user_agent(),
        user_agent("some-controller"),
    ]
    await identities.close()
    assert transport.closed == 1


def test_first_word_of_the_user_agent_is_the_field_manager():
    assert user_agent("x").partition("/")[0] == "kube-controller-manager"


async def test_rate_limit_delays_excess_requests(clock):
    identities = OneIdentity(Transport(), ManagerOptions(kube_api_qps=1, kube_api_burst=1), clock=clock)
    client = identities.client("a")
    await client.get(tree("v1", "Pod"), "p")
    second = asyncio.create_task(client.get(tree("v1", "Pod"), "p"))
    await clock.advance(0.5)
    assert not second.done()
    await clock.advance(0.5)
    await second


async def test_requests_are_counted(clock):
    identities = OneIdentity(Transport(), ManagerOptions(), clock=clock)
    await identities.client("a").get(tree("v1", "Pod"), "p")
    labels = {"code": "200", "method": "GET", "host": "host"}
    assert identities.metrics.registry.get_sample_value("rest_client_requests_total", labels) == 1


async def test_identity_creates_the_account_and_requests_a_token(cluster):
    tokens = AccountTokens(cluster.client, "some-controller")
    first = bearer(await tokens.identity())
    assert await cluster.find("v1", "ServiceAccount", "some-controller", namespace=NAMESPACE)
    assert bearer(await tokens.identity()) == first


async def test_token_request_is_not_logged_as_an_action(cluster):
    actions = Actions()
    token = ACTIONS.set(actions)
    try:
        await AccountTokens(cluster.client, "some-controller").identity()
        assert str(actions) == "nothing"
        await AccountTokens(cluster.client, "some-controller")._request_token()
        assert str(actions) == "created serviceaccounts/token"  # counted unless it is kept out
    finally:
        ACTIONS.reset(token)


async def test_token_is_renewed_before_expiry(cluster):
    tokens = AccountTokens(cluster.client, "some-controller")
    first = bearer(await tokens.identity())
    await cluster.clock.advance(0.7 * 3600)
    assert bearer(await tokens.identity()) == first
    await cluster.clock.advance(0.2 * 3600)
    assert bearer(await tokens.identity()) != first


async def test_rejected_token_is_replaced(cluster):
    tokens = AccountTokens(cluster.client, "some-controller")
    first = bearer(await tokens.identity())
    await cluster.clock.advance(1)
    assert tokens.reject()
    assert bearer(await tokens.identity()) != first


class Refusing(Client):
    """A root that may do nothing any more."""

    async def create_subresource(self, *_, **__):
        raise from_status({"code": 403, "reason": "Forbidden", "message": "no"})


async def test_identity_raises_without_a_token(clock):
    tokens = AccountTokens(Refusing(Transport(), clock=clock), "some-controller")
    with pytest.raises(ConfigError, match="no token for service account kube-system/some-controller: no"):
        await tokens.identity()


async def test_failed_renewal_keeps_the_last_token(cluster):
    tokens = AccountTokens(cluster.client, "some-controller")
    first = bearer(await tokens.identity())
    await cluster.clock.advance(3500)
    tokens._root = Refusing(Transport(), clock=cluster.clock)
    assert bearer(await tokens.identity()) == first
