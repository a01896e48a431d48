"""RBAC objects as authorization reads them, and rule matching. Upstream: ``pkg/apis/rbac/v1/evaluation_helpers.go``."""

from __future__ import annotations

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


class PolicyRule(msgspec.Struct, frozen=True, rename=_FIELD_NAMES, gc=False):
    """Policy rule. Order is kept, as messages show it. A decision takes time linear in the size of its rules."""

    verbs: tuple[str, ...] = ()
    api_groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()
    non_resource_urls: tuple[str, ...] = ()

    def allows_verb(self, verb: str) -> bool:
        """Report whether the rule allows the verb."""
        return verb in self.verbs or ALL in self.verbs

    def allows_group(self, group: str) -> bool:
        """Report whether the rule allows the API group."""
        return group in self.api_groups or ALL in self.api_groups

    def allows_resource_path(self, path: str) -> bool:
        """Report whether the rule allows ``resource`` or ``resource/subresource``, in any group."""
        resource, _, subresource = path.partition("/")
        if not subresource:
            return resource in self.resources or ALL in self.resources
        # "pods/*" has no meaning: only the resource may be "*" before a subresource
        return ALL in self.resources or path in self.resources or f"*/{subresource}" in self.resources

    def allows_resource(self, group: str, resource: str, subresource: str) -> bool:
        """Report whether the rule allows the resource or subresource, regardless of object names."""
        path = f"{resource}/{subresource}" if subresource else resource
        return self.allows_group(group) and self.allows_resource_path(path)

    def allows_path(self, path: str) -> bool:
        """Report whether the rule allows a non-resource path."""
        for url in self.non_resource_urls:
            if url in (ALL, path) or (url.endswith(ALL) and path.startswith(url.rstrip(ALL))):
                return True
        return False

    def __str__(self) -> str:
        """Format for messages: non-empty fields with Go's names. Upstream: ``CompactString``."""
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
    """Role that a binding refers to."""

    kind: str = ""
    name: str = ""


class Subject(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """Subject of a binding."""

    kind: str = ""
    name: str = ""
    namespace: str = ""


class Role(msgspec.Struct, frozen=True):
    """Role or ClusterRole."""

    rules: tuple[PolicyRule, ...] | None = None


class Binding(msgspec.Struct, frozen=True, rename="camel"):
    """RoleBinding or ClusterRoleBinding."""

    role_ref: RoleRef = RoleRef()
    subjects: tuple[Subject, ...] | None = None


#: Decoders of encoded objects, which skip other fields.
decode_role: Final = msgspec.json.Decoder(Role).decode
decode_binding: Final = msgspec.json.Decoder(Binding).decode


def account_user(namespace: str, name: str) -> str:
    """Return the user name of a service account."""
    return f"system:serviceaccount:{namespace}:{name}"
