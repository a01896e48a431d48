"""Writes of roles and bindings, as the guard against escalation wants to see them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apiserver.authz.policy import PolicyRule, RoleRef

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.authz.escalation import EscalationGuard
    from steersman.apiserver.request import RequestContext


#: What may change without granting anything: the garbage collector has to.
_HARMLESS: Final = ("ownerReferences", "finalizers", "managedFields", "selfLink", "generation", "resourceVersion")


def check_role(guard: EscalationGuard, ctx: RequestContext, obj: Tree, old: Tree | None) -> None:
    """Raises 403 when the role holds more than its writer."""
    if old is not None and _grants_the_same(obj, old):
        return
    namespace = obj["metadata"].get("namespace") or ""
    guard.check_role(
        ctx.user,
        policy_rules(obj),
        kind="Role" if namespace else "ClusterRole",
        namespace=namespace,
        name=obj["metadata"].get("name") or "",
        path_name=ctx.path_name,
        aggregates=bool(obj.get("aggregationRule") or (old or {}).get("aggregationRule")),
    )


def check_binding(guard: EscalationGuard, ctx: RequestContext, obj: Tree, old: Tree | None) -> None:
    """Raises 403 when the role that is given holds more than who gives it, 404 when it is not there."""
    if old is not None and _grants_the_same(obj, old):
        return
    namespace = obj["metadata"].get("namespace") or ""
    ref = obj.get("roleRef") or {}
    guard.check_binding(
        ctx.user,
        RoleRef(ref.get("kind") or "", ref.get("name") or ""),
        kind="RoleBinding" if namespace else "ClusterRoleBinding",
        namespace=namespace,
        name=obj["metadata"].get("name") or "",
    )


def policy_rules(obj: Tree) -> list[PolicyRule]:
    """The rules of a role that may not be valid yet."""
    parts = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")
    return [PolicyRule(*(tuple(rule.get(part) or ()) for part in parts)) for rule in obj.get("rules") or ()]


def _grants_the_same(obj: Tree, old: Tree) -> bool:
    return _without_harmless(obj) == _without_harmless(old)


def _without_harmless(tree: Tree) -> Tree:
    """What of an object counts; what is empty counts as absent."""
    metadata = {key: value for key, value in tree["metadata"].items() if key not in _HARMLESS and value}
    rest = {key: value for key, value in tree.items() if key != "metadata" and value}
    return {**rest, "metadata": metadata}
