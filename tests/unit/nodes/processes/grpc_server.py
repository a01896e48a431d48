"""A gRPC server with the health protocol, for tests of probes."""

from __future__ import annotations

from contextlib import asynccontextmanager

import grpc

from steersman.apimachinery.protowire import wire_fields

RESPONSES = {"": b"\x08\x01", "sick": b"\x08\x02", "new": b""}


@asynccontextmanager
async def health_server(method="Check"):
    """Serve; yields the port and the user agents of the calls."""
    agents = []

    async def check(request, context):
        agents.append(dict(context.invocation_metadata())["user-agent"])
        service = dict(wire_fields(request)).get(1, b"").decode()
        if service not in RESPONSES:
            await context.abort(grpc.StatusCode.NOT_FOUND, "unknown service")
        return RESPONSES[service]

    server = grpc.aio.server()
    handlers = {method: grpc.unary_unary_rpc_method_handler(check)}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("grpc.health.v1.Health", handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield port, agents
    finally:
        await server.stop(None)
