"""Escalation checks of writes of roles and bindings, applied by ``authz/escalation.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apiserver.authz.policy import PolicyRule, RoleRef

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.authz.escalation import EscalationGuard
    from steersman.apiserver.request import RequestContext


#: Metadata that changes without granting anything; the garbage collector removes finalizers and owner references.
_HARMLESS: Final = ("ownerReferences", "finalizers", "managedFields", "selfLink", "generation", "resourceVersion")


def check_role(guard: EscalationGuard, ctx: RequestContext, obj: Tree, old: Tree | None) -> None:
    """Raise 403 if the role has rules that its writer lacks (and may not ``escalate``)."""
    if old is not None and _is_equivalent(obj, old):
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
    """Raise 403 if the bound role has rules that the writer lacks (and may not ``bind``), 404 if the role does not
    exist.
    """
    if old is not None and _is_equivalent(obj, old):
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
    """Return the rules of a role that is not validated yet."""
    parts = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")
    return [PolicyRule(*(tuple(rule.get(part) or ()) for part in parts)) for rule in obj.get("rules") or ()]


def _is_equivalent(obj: Tree, old: Tree) -> bool:
    return _without_harmless_metadata(obj) == _without_harmless_metadata(old)


def _without_harmless_metadata(tree: Tree) -> Tree:
    """Return the object without metadata that grants nothing; empty fields equal absent ones."""
    metadata = {key: value for key, value in tree["metadata"].items() if key not in _HARMLESS and value}
    rest = {key: value for key, value in tree.items() if key != "metadata" and value}
    return {**rest, "metadata": metadata}
