"""Violations of Pod Security checks, and phrases shared by their messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from steersman.apimachinery.workmeter import charged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from steersman.apimachinery.trees import Tree


class Violation(msgspec.Struct, frozen=True):
    """Violation of one check."""

    reason: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.reason} ({self.detail})" if self.detail else self.reason


def containers(spec: Tree) -> Iterator[Tree]:
    """Return all containers in upstream's order."""
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        yield from spec.get(kind) or ()


def context_of(holder: Tree) -> Tree:
    """Return the security context of a Pod spec or container."""
    return holder.get("securityContext") or {}


def in_user_namespace(spec: Tree) -> bool:
    """Report whether a Pod runs in a user namespace, where the root user has no privileges on the host.

    Upstream: ``relaxPolicyForUserNamespacePod`` in ``policy/helpers.go``.
    """
    return spec.get("hostUsers") is False


def quoted(texts: Iterable[str]) -> str:
    """Return the quoted texts joined by commas. As upstream's ``joinQuote``, without escapes."""
    return ", ".join(f'"{text}"' for text in texts)


def plural(one: str, many: str, count: int) -> str:
    """Return the singular or plural by count."""
    return one if count == 1 else many


def named(names: list[str]) -> str:
    """Return ``container "a"`` or ``containers "a", "b"``."""
    return f"{plural('container', 'containers', len(names))} {quoted(names)}"


def names_where(spec: Tree, is_bad: Callable[[Tree], Any]) -> list[str]:
    """Return the names of containers with a bad property."""
    return [container.get("name", "") for container in charged(list(containers(spec)), 1) if is_bad(container)]


def setters(spec: Tree, is_bad: Callable[[Tree], Any]) -> str:
    """Return the holders of bad security contexts: ``pod and container "a"``; empty without any."""
    bad = names_where(spec, lambda container: is_bad(context_of(container)))
    return " and ".join([*(["pod"] if is_bad(context_of(spec)) else []), *([named(bad)] if bad else [])])
