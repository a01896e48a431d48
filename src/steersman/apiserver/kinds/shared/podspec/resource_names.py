"""Predicates of resource names: standard, extended, huge pages, by place of use. Upstream: ``pkg/apis/core/helper``."""

from __future__ import annotations

from typing import Final

from steersman.apimachinery import names
from steersman.apimachinery.quantity import Quantity, parse

COMPUTE: Final = ("cpu", "memory", "ephemeral-storage")
_COUNTED: Final = (
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
)
_QUOTA: Final = frozenset(
    (
        *COMPUTE,
        *(f"requests.{name}" for name in COMPUTE),
        *(f"limits.{name}" for name in COMPUTE),
        *_COUNTED,
        "requests.storage",
    )
)
_STANDARD: Final = _QUOTA | {"storage"}
_INTEGER: Final = frozenset(_COUNTED)
HUGE_PAGES: Final = "hugepages-"


def is_huge_pages(name: str) -> bool:
    """Report whether the resource is huge pages of one size."""
    return name.startswith(HUGE_PAGES)


def is_quota_huge_pages(name: str) -> bool:
    """Report whether the resource is huge pages in a quota."""
    return name.startswith((HUGE_PAGES, f"requests.{HUGE_PAGES}"))


def is_standard(name: str) -> bool:
    """Report whether the resource is a standard one, without domain."""
    return name in _STANDARD or is_quota_huge_pages(name)


def is_standard_of_quota(name: str) -> bool:
    """Report whether the resource is a standard one of quotas."""
    return name in _QUOTA or is_quota_huge_pages(name)


def is_standard_of_container(name: str) -> bool:
    """Report whether the resource is a standard one of containers."""
    return name in COMPUTE or is_huge_pages(name)


def is_native(name: str) -> bool:
    """Report whether the resource is native, with or without domain."""
    return "/" not in name or "kubernetes.io/" in name


def is_extended(name: str) -> bool:
    """Report whether the resource is extended, for example ``example.com/gpu``."""
    if is_native(name) or name.startswith("requests."):
        return False
    return not names.check_qualified_name(f"requests.{name}")


def may_overcommit(name: str) -> bool:
    """Report whether limits may exceed requests."""
    return is_native(name) and not is_huge_pages(name)


def is_integer(name: str) -> bool:
    """Report whether amounts must be integers."""
    return name not in COMPUTE and (name in _INTEGER or is_extended(name))


def is_whole_pages(name: str, amount: Quantity) -> bool:
    """Report whether the amount is a multiple of the page size in the name."""
    try:
        size = parse(name.removeprefix(HUGE_PAGES))
    except ValueError:
        return False
    return int(size) > 0 and int(amount) % int(size) == 0
