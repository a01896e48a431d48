"""What a check says, and the words that all checks share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from steersman.apimachinery.trees import Tree


class Violation(msgspec.Struct, frozen=True):
    """Something that a level does not allow."""

    reason: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.reason} ({self.detail})" if self.detail else self.reason


def containers(spec: Tree) -> Iterator[Tree]:
    """All containers in upstream's order."""
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        yield from spec.get(kind) or ()


def context_of(holder: Tree) -> Tree:
    """The security context of a pod's spec or of a container."""
    return holder.get("securityContext") or {}


def quoted(texts: Iterable[str]) -> str:
    """In quotes, as a list; upstream's ``joinQuote`` escapes nothing."""
    return ", ".join(f'"{text}"' for text in texts)


def plural(one: str, many: str, count: int) -> str:
    """The word that fits the count."""
    return one if count == 1 else many


def named(names: list[str]) -> str:
    """``container "a"``, ``containers "a", "b"``."""
    return f"{plural('container', 'containers', len(names))} {quoted(names)}"


def names_where(spec: Tree, is_bad: Callable[[Tree], Any]) -> list[str]:
    """The names of the containers for which something holds."""
    return [container.get("name", "") for container in containers(spec) if is_bad(container)]


def setters(spec: Tree, is_bad: Callable[[Tree], Any]) -> str:
    """Who has a bad security context: ``pod and container "a"``; empty when nobody."""
    bad = names_where(spec, lambda container: is_bad(context_of(container)))
    return " and ".join([*(["pod"] if is_bad(context_of(spec)) else []), *([named(bad)] if bad else [])])
