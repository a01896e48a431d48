"""Handler chain."""


async def test_chain_routes_resources_and_other_paths(server):
    assert (await server.request("GET", "/api/v1/namespaces/default")).json()["kind"] == "Namespace"
    assert (await server.request("GET", "/version")).json()["major"] == "1"


async def test_rejected_request_has_audit_id(server):
    answer = await server.anonymous().request("GET", "/api/v1/secrets")
    assert answer.code == 403
    assert answer.header("audit-id")


async def test_authentication_precedes_authorization(server):
    answer = await server.anonymous().request("GET", "/healthz", headers={"authorization": "Bearer wrong"})
    assert answer.code == 401


async def test_invalid_timeout_is_rejected_first(server):
    assert (await server.request("GET", "/api/v1/namespaces?timeout=5x")).code == 400
