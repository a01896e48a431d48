"""Host ports of pods and their conflicts."""

from __future__ import annotations

import pytest
from lightkube.models.core_v1 import Container, ContainerPort, PodSpec

from steersman.workloads.host_ports import ANY_ADDRESS, HostPort, host_ports, is_taken


def test_host_ports_are_those_of_containers_and_sidecars() -> None:
    def container(name: str, *ports: ContainerPort, restart: str | None = None) -> Container:
        return Container(name=name, ports=list(ports), restartPolicy=restart)

    spec = PodSpec(
        containers=[container("c", ContainerPort(80), ContainerPort(80, hostPort=8080, hostIP="10.0.0.1"))],
        initContainers=[
            container("init", ContainerPort(80, hostPort=1)),
            container("side", ContainerPort(53, hostPort=53, protocol="UDP"), restart="Always"),
        ],
    )
    assert host_ports(spec) == ((ANY_ADDRESS, "UDP", 53), ("10.0.0.1", "TCP", 8080))


@pytest.mark.parametrize(
    ("port", "is_conflict"),
    [
        (("10.0.0.1", "TCP", 80), True),
        (("10.0.0.2", "TCP", 80), False),
        ((ANY_ADDRESS, "TCP", 80), True),
        (("10.0.0.1", "UDP", 80), False),
        (("10.0.0.9", "TCP", 443), True),
    ],
)
def test_is_taken_treats_any_address_as_every_address(port: HostPort, is_conflict: bool) -> None:
    assert is_taken(port, {("10.0.0.1", "TCP", 80), (ANY_ADDRESS, "TCP", 443)}) is is_conflict
