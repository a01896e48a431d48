"""Validation of policy rules and aggregation rules of Roles and ClusterRoles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field
from steersman.apimachinery.selectors import SelectorError, from_label_selector
from steersman.apiserver.kinds.shared.validation import validate_label_selector

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree

_RULES: Final = field.Path("rules")
_SELECTORS: Final = field.Path("aggregationRule", "clusterRoleSelectors")


def validate_rules(rules: Sequence[Tree] | None, *, namespaced: bool) -> Iterator[FieldError]:
    """Validate policy rules: resources or, in ClusterRoles only, non-resource URLs."""
    for position, rule in enumerate(rules or ()):
        item_path = _RULES.index(position)
        if not rule.get("verbs"):
            yield field.required(item_path.child("verbs"), "verbs must contain at least one value")
        urls, non_resource_urls_path = rule.get("nonResourceURLs"), item_path.child("nonResourceURLs")
        if urls:
            if namespaced:
                yield field.invalid(non_resource_urls_path, urls, "namespaced rules cannot apply to non-resource URLs")
            if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
                yield field.invalid(
                    non_resource_urls_path, urls, "rules cannot apply to both regular resources and non-resource URLs"
                )
            continue
        if not rule.get("apiGroups"):
            yield field.required(item_path.child("apiGroups"), "resource rules must supply at least one api group")
        if not rule.get("resources"):
            yield field.required(item_path.child("resources"), "resource rules must supply at least one resource")


def validate_aggregation(rule: Tree | None, old: Tree | None = None) -> Iterator[FieldError]:
    """Validate the selectors of an aggregation rule."""
    if rule is None:
        return
    selectors = rule.get("clusterRoleSelectors") or ()
    if not selectors:
        detail = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        yield field.required(_SELECTORS, detail)
    old_selectors = (old or {}).get("clusterRoleSelectors") or ()
    lax = any(next(validate_label_selector(selector, _SELECTORS), None) is not None for selector in old_selectors)
    for position, selector in enumerate(selectors):
        item_path = _SELECTORS.index(position)
        yield from validate_label_selector(selector, item_path, allow_invalid_values=lax)
        try:
            from_label_selector(selector)
        except SelectorError:
            yield field.invalid(item_path, None, "invalid label selector.")
