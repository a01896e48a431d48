"""Address and port by which the cluster reaches this server."""

from __future__ import annotations

import logging
import socket
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.controlplane.options import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.controlplane.options import APIServerOptions

_log = logging.getLogger(__name__)

#: Addresses of documentation networks (RFC 5737, RFC 3849); no packet is sent to them.
_ELSEWHERE: Final = {4: ("192.0.2.1", socket.AF_INET), 6: ("2001:db8::1", socket.AF_INET6)}


class PublicEndpoint(msgspec.Struct, frozen=True):
    """Address and port of a server, as published in the Endpoints ``kubernetes``."""

    address: str
    port: int

    @property
    def authority(self) -> str:
        """Return host and port as in a URL."""
        return f"[{self.address}]:{self.port}" if ":" in self.address else f"{self.address}:{self.port}"


def host_address(version: int) -> str:
    """Return the address of the machine's default route; empty without one. Sends no packet."""
    target, family = _ELSEWHERE[version]
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((target, 9))
            return str(probe.getsockname()[0])
    except OSError:
        return ""


def is_on_an_interface(address: str) -> bool:
    """Report whether the machine has the address, i.e. can listen on it."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.bind((address, 0))
    except OSError:
        return False
    return True


def public_address(
    options: APIServerOptions,
    *,
    find_host: Callable[[int], str] = host_address,
    is_local: Callable[[str], bool] = is_on_an_interface,
) -> str:
    """Return the address to publish: advertised, bound, or the machine's; empty if none is suitable.

    An advertised address that is not published, or not local, is logged. Raises ``OptionError`` for an address family
    other than that of service addresses.
    """
    version = ip_network(options.service_cluster_ip_range.split(",")[0].strip()).version
    configured = options.advertise_address or options.bind_address
    try:
        address = ip_address(configured)
    except ValueError:
        address = None  # a name, which may not be resolvable elsewhere
    if address is None or address.is_unspecified or address.is_loopback:
        host = find_host(version)
        published = "" if not host or ip_address(host).is_loopback else host
        if options.advertise_address:
            _log.warning(
                "the advertise address %s is not published, as other machines cannot reach it: %s is",
                configured, published or "no address",
            )  # fmt: skip
        return published
    if address.version != version and options.endpoint_reconciler_type != "none":
        families = options.service_cluster_ip_range
        raise OptionError(
            f'--advertise-address: service IP family "{families}" must match public address family "{address}"'
        )
    if options.advertise_address and not is_local(str(address)):
        _log.warning("no interface of this machine has the advertise address %s", address)
    return str(address)
