"""Addresses that endpoints may not have (``ValidateEndpointIP`` upstream)."""

from __future__ import annotations

from ipaddress import ip_network
from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field
from steersman.apimachinery.addresses import parse_ip

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.field import FieldError, Path

_LINK_LOCAL_MULTICAST_4: Final = ip_network("224.0.0.0/24")
_LINK_LOCAL_MULTICAST_6: Final = ip_network("ff02::/16")


def validate_endpoint_ip(text: str, path: Path) -> Iterator[FieldError]:
    """Addresses that mean the node itself, or nobody in particular. Says nothing of a text that is no address."""
    ip = parse_ip(text)
    if ip is None:
        return
    if ip.is_unspecified:
        yield field.invalid(path, text, f"may not be unspecified ({text})")
    if ip.is_loopback:
        yield field.invalid(path, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
    if ip.is_link_local:
        yield field.invalid(path, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
    if ip.is_multicast and ip in (_LINK_LOCAL_MULTICAST_4 if ip.version == 4 else _LINK_LOCAL_MULTICAST_6):
        yield field.invalid(path, text, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")
