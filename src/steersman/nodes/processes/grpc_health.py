"""Client of the gRPC health protocol (``grpc.health.v1.Health/Check``) for probes; it needs the package ``grpcio``.

Upstream: pkg/probe/grpc/grpc.go
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery.codec import DecodeError
from steersman.apimachinery.protowire import string, wire_fields
from steersman.asynckit.timeouts import wait_for
from steersman.extras import load_optional
from steersman.nodes.processes.fields import LOOPBACK

if TYPE_CHECKING:
    from steersman.asynckit.clock import Clock

_METHOD: Final = "/grpc.health.v1.Health/Check"
_STATUSES: Final = {0: "UNKNOWN", 1: "SERVING", 2: "NOT_SERVING", 3: "SERVICE_UNKNOWN"}
_OPTIONS: Final = (("grpc.primary_user_agent", "kube-probe/1.36"), ("grpc.enable_http_proxy", 0))


async def check_health(port: int, service: str, *, seconds: float, clock: Clock) -> str:
    """Ask the server on loopback for the health of a service; return why it failed, or an empty text.

    Raises ``MissingPackagesError`` without ``grpcio``.
    """
    aio = await asyncio.to_thread(load_optional, "grpc", "aio", "a gRPC probe", "grpc")
    address = f"{LOOPBACK}:{port}"
    channel = aio.insecure_channel(address, options=_OPTIONS)
    begin = clock.monotonic()
    try:
        await wait_for(channel.channel_ready(), seconds, clock=clock)
        remaining = max(0.0, seconds - (clock.monotonic() - begin))
        response = await wait_for(channel.unary_unary(_METHOD)(string(1, service)), remaining, clock=clock)
    except TimeoutError:
        if channel.get_state().name == "READY":
            return f"timeout: health rpc did not complete within {seconds:g}s"
        return f'timeout: failed to connect service "{address}" within {seconds:g}s: context deadline exceeded'
    except aio.AioRpcError as error:
        return _error_text(error)
    finally:
        await channel.close()
    status = _status_of(response)
    return "" if status == "SERVING" else f'service unhealthy (responded with "{status}")'


def _error_text(error: Any) -> str:
    name = error.code().name
    if name == "UNIMPLEMENTED":
        protocol = "this server does not implement the grpc health protocol (grpc.health.v1.Health)"
        return f"error: {protocol}: {error.details()}"
    code = "Canceled" if name == "CANCELLED" else name.title().replace("_", "")
    return f"error: health rpc probe failed: rpc error: code = {code} desc = {error.details()}"


def _status_of(response: bytes) -> str:
    """Return the ``ServingStatus`` of a ``HealthCheckResponse``; unknown numbers as digits."""
    try:
        fields = dict(wire_fields(response))
    except DecodeError:
        return "UNKNOWN"
    number = fields.get(1, 0)
    return _STATUSES.get(number, str(number)) if isinstance(number, int) else "UNKNOWN"
