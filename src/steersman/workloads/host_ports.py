"""Host ports of pods and their conflicts. Upstream: pkg/scheduler/framework/types.go, ``HostPortInfo``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection

    from lightkube.models.core_v1 import PodSpec

#: Host IP of a container port without ``hostIP``: all addresses of the node.
ANY_ADDRESS: Final = "0.0.0.0"  # noqa: S104 — compared, never listened on

#: Host IP, protocol, port.
HostPort = tuple[str, str, int]


def host_ports(spec: PodSpec) -> tuple[HostPort, ...]:
    """Return the host ports of containers and sidecars."""
    sidecars = [
        init_container for init_container in spec.initContainers or () if init_container.restartPolicy == "Always"
    ]
    return tuple(
        (port.hostIP or ANY_ADDRESS, port.protocol or "TCP", port.hostPort)
        for container in [*sidecars, *spec.containers]
        for port in container.ports or ()
        if port.hostPort
    )


def is_taken(port: HostPort, used_ports: Collection[HostPort]) -> bool:
    """Report whether a host port conflicts with one in use; 0.0.0.0 conflicts with every address."""
    address, protocol, number = port
    if address == ANY_ADDRESS:
        return any(port[1:] == (protocol, number) for port in used_ports)
    return port in used_ports or (ANY_ADDRESS, protocol, number) in used_ports
