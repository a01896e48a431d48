"""Validation of domain-qualified names: ``example.com/controller``, ``admission.example.com``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field, names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.field import FieldError, Path

_HTTP_PATH: Final = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_matches_http_path: Final = re.compile(_HTTP_PATH).fullmatch


def check_domain_prefixed_path(value: str, path: Path) -> Iterator[FieldError]:
    """Validate a domain-prefixed path, for example ``example.com/anything``. Upstream: ``IsDomainPrefixedPath``."""
    if not value:
        yield field.required(path)
        return
    domain, _, rest = value.partition("/")
    if not domain or not rest:
        yield field.invalid(path, value, 'must be a domain-prefixed path (such as "acme.io/foo")')
        return
    for fault in names.check_dns1123_subdomain(domain):
        yield field.invalid(path, domain, fault)
    if not _matches_http_path(rest):
        yield field.invalid(path, rest, f"Invalid path (regex used for validation is '{_HTTP_PATH}')")


def check_qualified_domain(value: str, path: Path) -> Iterator[FieldError]:
    """Validate a name of at least three domain segments. Upstream: ``IsFullyQualifiedName``."""
    if not value:
        yield field.required(path)
        return
    faults = names.check_dns1123_subdomain(value)
    if faults:
        yield field.invalid(path, value, ",".join(faults))
    elif value.count(".") < 2:
        yield field.invalid(path, value, "should be a domain with at least three segments separated by dots")
