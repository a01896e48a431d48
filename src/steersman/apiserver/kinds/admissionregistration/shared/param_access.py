"""Authorization of writers of admission policies and bindings: they must be able to read the parameters.

Upstream: ``pkg/registry/admissionregistration/*admissionpolicy*/authz.go``. A policy whose ``paramKind`` cannot be
resolved is checked for all kinds. ``system:masters`` bypasses the check.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field
from steersman.apimachinery.gotext import quote
from steersman.apiserver.request import RequestInfo
from steersman.apiserver.workers import on_loop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.authz.interface import Authorizer
    from steersman.apiserver.request import UserInfo

    #: Return the plural for apiVersion and kind; empty if the kind is not served.
    ResourceOf = Callable[[str, str], str]
    #: Return the ``paramKind`` of a policy by name; None without one.
    KindOf = Callable[[str], Tree | None]

_ALL: Final = "*"
_SPEC: Final = field.Path("spec")


class ParamAccess:
    """Authorization checks for writers of policies and bindings."""

    def __init__(self, authorizer: Authorizer, resource_of: ResourceOf, kind_of: KindOf) -> None:
        """``kind_of``: looks up the policies that bindings refer to."""
        self._authorizer: Final = authorizer
        self._resource_of: Final = resource_of
        self._kind_of: Final = kind_of

    def check_policy(self, user: UserInfo, obj: Tree, old: Tree | None) -> Iterator[FieldError]:
        """Authorize a policy that adds or changes its ``paramKind``."""
        kind = obj["spec"].get("paramKind")
        if kind is None or (old is not None and old["spec"].get("paramKind") == kind):
            return
        if not on_loop(self._is_authorized, user, "get", kind, name=_ALL, namespace=_ALL):
            named = f"kind={kind.get('kind', '')}, apiVersion={kind.get('apiVersion', '')}"
            detail = f'must have "get" permission on all objects of the referenced paramKind ({named})'
            yield field.forbidden(_SPEC.child("paramKind"), f"user {quote(user.name)} {detail}")

    def check_binding(self, user: UserInfo, obj: Tree, old: Tree | None) -> Iterator[FieldError]:
        """Authorize a binding that adds or changes its ``paramRef``."""
        spec, before = obj["spec"], old["spec"] if old is not None else {}
        reference, policy = spec.get("paramRef"), spec.get("policyName") or ""
        if reference is None or (reference == before.get("paramRef") and policy == before.get("policyName")):
            return
        name = reference.get("name") or ""
        verb = "get" if name else "list"
        namespace = reference.get("namespace") or ""
        if not on_loop(self._is_authorized, user, verb, on_loop(self._kind_of, policy), name=name, namespace=namespace):
            detail = f"does not have {quote(verb)} permission on the object referenced by paramRef"
            yield field.forbidden(_SPEC.child("paramRef"), f"user {quote(user.name)} {detail}")

    def _is_authorized(self, user: UserInfo, verb: str, kind: Tree | None, *, name: str, namespace: str) -> bool:
        group, version, resource = _ALL, _ALL, _ALL
        if kind is not None:
            api_version = kind.get("apiVersion") or ""
            group, _, version = api_version.rpartition("/")
            resource = self._resource_of(api_version, kind.get("kind") or "") or _ALL
        info = RequestInfo(
            verb, "", is_resource=True, group=group, version=version, namespace=namespace, resource=resource, name=name
        )
        return self._authorizer.authorize(user, info).allowed
