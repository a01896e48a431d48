"""Whoever names the parameters of a policy must be able to read them (``*admissionpolicy*/authz.go`` upstream).

A policy that says too little of its parameters' kind is taken to mean all kinds. ``system:masters`` may everything.
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

    #: From apiVersion and kind to the plural; empty when nothing serves the kind.
    ResourceOf = Callable[[str, str], str]
    #: The ``paramKind`` of the policy of a name; None when there is none.
    KindOf = Callable[[str], Tree | None]

_ALL: Final = "*"
_SPEC: Final = field.Path("spec")


class ParamAccess:
    """Finds out what a policy's writer may read."""

    def __init__(self, authorizer: Authorizer, resource_of: ResourceOf, kind_of: KindOf) -> None:
        """``kind_of`` knows the policies that the bindings in question are for."""
        self._authorizer: Final = authorizer
        self._resource_of: Final = resource_of
        self._kind_of: Final = kind_of

    def check_policy(self, user: UserInfo, obj: Tree, old: Tree | None) -> Iterator[FieldError]:
        """A policy that names a kind, if it did not before."""
        kind = obj["spec"].get("paramKind")
        if kind is None or (old is not None and old["spec"].get("paramKind") == kind):
            return
        if not on_loop(self._may, user, "get", kind, name=_ALL, namespace=_ALL):
            named = f"kind={kind.get('kind', '')}, apiVersion={kind.get('apiVersion', '')}"
            detail = f'must have "get" permission on all objects of the referenced paramKind ({named})'
            yield field.forbidden(_SPEC.child("paramKind"), f"user {quote(user.name)} {detail}")

    def check_binding(self, user: UserInfo, obj: Tree, old: Tree | None) -> Iterator[FieldError]:
        """A binding that names parameters, if it did not name the same ones before."""
        spec, before = obj["spec"], old["spec"] if old is not None else {}
        reference, policy = spec.get("paramRef"), spec.get("policyName") or ""
        if reference is None or (reference == before.get("paramRef") and policy == before.get("policyName")):
            return
        name = reference.get("name") or ""
        verb = "get" if name else "list"
        namespace = reference.get("namespace") or ""
        if not on_loop(self._may, user, verb, on_loop(self._kind_of, policy), name=name, namespace=namespace):
            detail = f"does not have {quote(verb)} permission on the object referenced by paramRef"
            yield field.forbidden(_SPEC.child("paramRef"), f"user {quote(user.name)} {detail}")

    def _may(self, user: UserInfo, verb: str, kind: Tree | None, *, name: str, namespace: str) -> bool:
        group, version, resource = _ALL, _ALL, _ALL
        if kind is not None:
            api_version = kind.get("apiVersion") or ""
            group, _, version = api_version.rpartition("/")
            resource = self._resource_of(api_version, kind.get("kind") or "") or _ALL
        info = RequestInfo(
            verb, "", is_resource=True, group=group, version=version, namespace=namespace, resource=resource, name=name
        )
        return self._authorizer.authorize(user, info).allowed
