"""By which address the cluster reaches this server."""

from __future__ import annotations

import socket
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.controlplane.options import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.controlplane.options import APIServerOptions

#: Of networks for documentation (RFC 5737, RFC 3849): nothing is ever sent there.
_ELSEWHERE: Final = {4: ("192.0.2.1", socket.AF_INET), 6: ("2001:db8::1", socket.AF_INET6)}


class Place(msgspec.Struct, frozen=True):
    """Where a server is reached."""

    address: str
    port: int

    @property
    def authority(self) -> str:
        """As in a URL."""
        return f"[{self.address}]:{self.port}" if ":" in self.address else f"{self.address}:{self.port}"


def host_address(version: int) -> str:
    """The machine's address that its default route goes out from; empty when there is none. Sends nothing."""
    target, family = _ELSEWHERE[version]
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((target, 9))
            return str(probe.getsockname()[0])
    except OSError:
        return ""


def public_address(options: APIServerOptions, *, find_host: Callable[[int], str] = host_address) -> str:
    """The address to publish: the advertised one, the one listened on, or the machine's; empty when none will do.

    Raises ``OptionError`` when it is of another family than service addresses, which nobody could reach it by then.
    """
    version = ip_network(options.service_cluster_ip_range.split(",")[0].strip()).version
    told = options.advertise_address or options.bind_address
    try:
        address = ip_address(told)
    except ValueError:
        address = None  # a name: others may not know it
    if address is None or address.is_unspecified or address.is_loopback:
        found = find_host(version)
        return "" if not found or ip_address(found).is_loopback else found
    if address.version != version and options.endpoint_reconciler_type != "none":
        families = options.service_cluster_ip_range
        raise OptionError(
            f'--advertise-address: service IP family "{families}" must match public address family "{address}"'
        )
    return str(address)
