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
_FIELD_NAMES: Final = {
    "api_groups": "apiGroups",
    "resource_names": "resourceNames",
    "non_resource_urls": "nonResourceURLs",
}


class PolicyRule(msgspec.Struct, frozen=True, rename=_FIELD_NAMES, dict=True):
    """Verbs on resources of API groups, or on paths. Order is kept, as clients are shown it."""

    verbs: tuple[str, ...] = ()
    api_groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()
    non_resource_urls: tuple[str, ...] = ()

    def allows_verb(self, verb: str) -> bool:
        """Whether the verb is among the rule's."""
        return verb in self._verbs or ALL in self._verbs

    def allows_group(self, group: str) -> bool:
        """Report whether the rule is about an API group."""
        return group in self._groups or ALL in self._groups

    def allows_resource_path(self, path: str) -> bool:
        """Report whether the rule is about ``resource`` or ``resource/subresource``, in whichever group."""
        resource, _, subresource = path.partition("/")
        if not subresource:
            return resource in self._resources or ALL in self._resources
        # "pods/*" is no pattern: only the resource's half may be a star
        return not self._resources.isdisjoint((ALL, path, f"*/{subresource}"))

    def allows_resource(self, group: str, resource: str, subresource: str) -> bool:
        """Whether the rule is about a resource (or a subresource of one), whichever object."""
        path = f"{resource}/{subresource}" if subresource else resource
        return self.allows_group(group) and self.allows_resource_path(path)

    def allows_path(self, path: str) -> bool:
        """Whether the rule is about a path outside the API."""
        for url in self.non_resource_urls:
            if url in (ALL, path) or (url.endswith(ALL) and path.startswith(url.rstrip(ALL))):
                return True
        return False

    def allows_name(self, name: str) -> bool:
        """Report whether the rule is about an object of that name; the empty name stands for any."""
        return not self.resource_names or (bool(name) and name in self._names)

    @cached_property
    def _groups(self) -> frozenset[str]:
        return frozenset(self.api_groups)

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(self.resource_names)

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
