"""Client of the gRPC health protocol (``grpc.health.v1.Health/Check``) for probes; it needs the package ``hpack``.

Upstream: pkg/probe/grpc/grpc.go
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.codec import DecodeError
from steersman.apimachinery.protowire import string, wire_fields
from steersman.extras import load_optional
from steersman.grpc.errors import Code, RpcError
from steersman.nodes.processes.fields import LOOPBACK

if TYPE_CHECKING:
    from steersman.asynckit.clock import Clock

_METHOD: Final = "/grpc.health.v1.Health/Check"
_STATUSES: Final = {0: "UNKNOWN", 1: "SERVING", 2: "NOT_SERVING", 3: "SERVICE_UNKNOWN"}
_USER_AGENT: Final = "kube-probe/1.36"


async def check_health(port: int, service: str, *, seconds: float, clock: Clock) -> str:
    """Check the health of a service of the server on loopback; return the reason of a failure, or an empty text.

    Raises ``MissingPackagesError`` without ``hpack``.
    """
    load_optional("hpack", "Decoder", "a gRPC probe", "grpc")
    from steersman.grpc.channel import Channel, Target  # noqa: PLC0415 — needs the extra

    channel = Channel(Target(LOOPBACK, port), clock=clock, user_agent=_USER_AGENT)
    deadline = clock.monotonic() + seconds
    try:
        await channel.connect(timeout_seconds=seconds)
        remaining = max(0.0, deadline - clock.monotonic())
        response = await channel.unary(_METHOD, string(1, service), timeout_seconds=remaining)
    except TimeoutError:
        address = channel.target.authority
        return f'timeout: failed to connect service "{address}" within {seconds:g}s: context deadline exceeded'
    except RpcError as error:
        if error.code is Code.DEADLINE_EXCEEDED:
            return f"timeout: health rpc did not complete within {seconds:g}s"
        return _error_text(error)
    finally:
        await channel.close()
    status = _status_of(response)
    return "" if status == "SERVING" else f'service unhealthy (responded with "{status}")'


def _error_text(error: RpcError) -> str:
    if error.code is Code.UNIMPLEMENTED:
        protocol = "this server does not implement the grpc health protocol (grpc.health.v1.Health)"
        return f"error: {protocol}: {error.details}"
    return f"error: health rpc probe failed: {error.go_text}"


def _status_of(response: bytes) -> str:
    """Return the ``ServingStatus`` of a ``HealthCheckResponse``; unknown numbers as digits."""
    try:
        fields = dict(wire_fields(response))
    except DecodeError:
        return "UNKNOWN"
    number = fields.get(1, 0)
    return _STATUSES.get(number, str(number)) if isinstance(number, int) else "UNKNOWN"
