"""Roles and bindings as authorization reads them, and when a rule allows something (``pkg/registry/rbac/rule``)."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.apimachinery.gotext import quote

if TYPE_CHECKING:
    from collections.abc import Iterable

GROUP: Final = "rbac.authorization.k8s.io"
ALL: Final = "*"


class PolicyRule(msgspec.Struct, frozen=True, rename="camel", dict=True):
    """Verbs on resources of API groups, or on paths. Order is kept, as clients are shown it."""

    verbs: tuple[str, ...] = ()
    api_groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()
    non_resource_urls: tuple[str, ...] = msgspec.field(default=(), name="nonResourceURLs")

    def allows_verb(self, verb: str) -> bool:
        """Whether the verb is among the rule's."""
        return verb in self._verbs or ALL in self._verbs

    def allows_resource(self, group: str, resource: str, subresource: str) -> bool:
        """Whether the rule is about a resource (or a subresource of one), whichever object."""
        if not self.resources or not (group in self.api_groups or ALL in self.api_groups):
            return False
        if not subresource:
            return resource in self._resources or ALL in self._resources
        # "pods/*" is no pattern: only the resource's half may be a star
        wanted = (ALL, f"{resource}/{subresource}", f"*/{subresource}")
        return not self._resources.isdisjoint(wanted)

    def allows_path(self, path: str) -> bool:
        """Whether the rule is about a path outside the API."""
        for url in self.non_resource_urls:
            if url in (ALL, path) or (url.endswith(ALL) and path.startswith(url.rstrip(ALL))):
                return True
        return False

    @cached_property
    def _verbs(self) -> frozenset[str]:
        return frozenset(self.verbs)

    @cached_property
    def _resources(self) -> frozenset[str]:
        return frozenset(self.resources)

    def __str__(self) -> str:
        """As refusals tell it: only what is not empty, in Go's field names."""
        parts = (
            ("APIGroups", self.api_groups),
            ("Resources", self.resources),
            ("NonResourceURLs", self.non_resource_urls),
            ("ResourceNames", self.resource_names),
            ("Verbs", self.verbs),
        )
        return "{" + ", ".join(f"{name}:[{_quoted(values)}]" for name, values in parts if values) + "}"


def _quoted(values: Iterable[str]) -> str:
    return " ".join(quote(value) for value in values)


class RoleRef(msgspec.Struct, frozen=True, rename="camel"):
    """The role that a binding grants."""

    kind: str = ""
    name: str = ""


class Subject(msgspec.Struct, frozen=True, rename="camel"):
    """Whom a binding grants it to."""

    kind: str = ""
    name: str = ""
    namespace: str = ""


class Role(msgspec.Struct, frozen=True):
    """A Role or a ClusterRole."""

    rules: tuple[PolicyRule, ...] | None = None


class Binding(msgspec.Struct, frozen=True, rename="camel"):
    """A RoleBinding or a ClusterRoleBinding."""

    role_ref: RoleRef = RoleRef()
    subjects: tuple[Subject, ...] | None = None


#: Of the encoded object; what authorization does not need is skipped.
decode_role: Final = msgspec.json.Decoder(Role).decode
decode_binding: Final = msgspec.json.Decoder(Binding).decode


def account_user(namespace: str, name: str) -> str:
    """The user name of a service account."""
    return f"system:serviceaccount:{namespace}:{name}"
