"""The way of every request."""

import pytest

from steersman.testing import InProcessAPIServer


@pytest.fixture
async def server():
    async with InProcessAPIServer() as started:
        yield started


async def test_resources_and_other_paths_go_their_own_ways(server):
    assert (await server.request("GET", "/api/v1/namespaces/default")).json()["kind"] == "Namespace"
    assert (await server.request("GET", "/version")).json()["major"] == "1"


async def test_who_is_refused_still_gets_an_audit_id(server):
    answer = await server.anonymous().request("GET", "/api/v1/secrets")
    assert answer.code == 403
    assert answer.header("audit-id")


async def test_authentication_comes_before_authorization(server):
    answer = await server.anonymous().request("GET", "/healthz", headers={"authorization": "Bearer wrong"})
    assert answer.code == 401


async def test_a_bad_limit_of_time_is_refused_before_anything_is_done(server):
    assert (await server.request("GET", "/api/v1/namespaces?timeout=5x")).code == 400
