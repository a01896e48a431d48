"""Validation of the match criteria of webhooks and policies: rules, match conditions, match resources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field, names
from steersman.apiserver.kinds.admissionregistration.shared.cel_expressions import check_match_condition
from steersman.apiserver.kinds.shared.validation import check_all, repeat_positions, validate_label_selector

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree

FAILURE_POLICIES: Final = ("Fail", "Ignore")
MATCH_POLICIES: Final = ("Equivalent", "Exact")
REINVOCATION_POLICIES: Final = ("IfNeeded", "Never")

_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES: Final = ("*", "Cluster", "Namespaced")
_CONDITIONS_MAX: Final = 64


def check_enum(value: str | None, supported: Sequence[str], path: Path) -> Iterator[FieldError]:
    """Validate that a value, if set, is a supported one."""
    if value is not None and value not in supported:
        yield field.not_supported(path, value, supported)


def validate_rule(rule: Tree, path: Path) -> Iterator[FieldError]:
    """Validate a rule: operations and resources."""
    operations, operations_path = rule.get("operations") or (), path.child("operations")
    yield from _check_list(operations, operations_path, "operations")
    for position, operation in enumerate(operations):
        yield from check_enum(operation, _OPERATIONS, operations_path.index(position))
    yield from _check_list(rule.get("apiGroups") or (), path.child("apiGroups"), "API groups")
    versions, api_versions_path = rule.get("apiVersions") or (), path.child("apiVersions")
    yield from _check_list(versions, api_versions_path, "API versions")
    for position, version in enumerate(versions):
        if not version:
            yield field.required(api_versions_path.index(position))
    yield from _validate_resources(rule.get("resources") or (), path.child("resources"))
    yield from check_enum(rule.get("scope"), _SCOPES, path.child("scope"))


def _check_list(values: Sequence[str], path: Path, plural: str) -> Iterator[FieldError]:
    if not values:
        yield field.required(path)
    if len(values) > 1 and "*" in values:
        yield field.invalid(path, values, f"if '*' is present, must not specify other {plural}")


def _validate_resources(resources: Sequence[str], path: Path) -> Iterator[FieldError]:
    """Validate resources: ``pods``, ``pods/status``, ``*``, ``pods/*``, ``*/scale``, ``*/*``; none may include another."""
    if not resources:
        yield field.required(path)
    whole: set[str] = set()
    parts: set[str] = set()
    names_one = False
    for position, text in enumerate(resources):
        item_path = path.index(position)
        if not text:
            yield field.required(item_path)
            continue
        resource, slash, part = text.partition("/")
        if not slash:
            names_one = text != "*"
            continue
        if resource in whole:
            yield field.invalid(item_path, text, f"if '{resource}/*' is present, must not specify {text}")
        if part in parts:
            yield field.invalid(item_path, text, f"if '*/{part}' is present, must not specify {text}")
        if part == "*":
            whole.add(resource)
        if resource == "*":
            parts.add(part)
    if len(resources) > 1 and "*/*" in resources:
        yield field.invalid(path, resources, "if '*/*' is present, must not specify other resources")
    if "*" in resources and names_one:
        detail = "if '*' is present, must not specify other resources without subresources"
        yield field.invalid(path, resources, detail)


def validate_conditions(conditions: Sequence[Tree], path: Path, *, has_params: bool = False) -> Iterator[FieldError]:
    """Validate match conditions, whose names must be unique."""
    if len(conditions) > _CONDITIONS_MAX:
        yield field.too_many(path, len(conditions), max_items=_CONDITIONS_MAX)
    seen: set[str] = set()
    for position, condition in enumerate(conditions):
        item_path, name = path.index(position), condition.get("name") or ""
        expression = condition.get("expression") or ""
        if not expression.strip():
            yield field.required(item_path.child("expression"))
        else:
            yield from check_match_condition(expression, item_path.child("expression"), has_params=has_params)
        if not name:
            yield field.required(item_path.child("name"))
            continue
        yield from check_all(item_path.child("name"), name, names.check_qualified_name(name))
        if name in seen:
            yield field.duplicate(item_path.child("name"), name)
        seen.add(name)


def validate_match(match: Tree, path: Path) -> Iterator[FieldError]:
    """Validate the defaulted ``matchConstraints`` or ``matchResources`` of a policy or binding."""
    policy = match.get("matchPolicy")
    if policy is None:
        yield field.required(path.child("matchPolicy"))
    yield from check_enum(policy, MATCH_POLICIES, path.child("matchPolicy"))
    for name in ("namespaceSelector", "objectSelector"):
        if match.get(name) is None:
            yield field.required(path.child(name))
        yield from validate_label_selector(match.get(name), path.child(name))
    for kind in ("resourceRules", "excludeResourceRules"):
        for position, rule in enumerate(match.get(kind) or ()):
            item_path = path.child(kind).index(position)
            yield from _validate_resource_names(rule.get("resourceNames") or (), item_path.child("resourceNames"))
            yield from validate_rule(rule, item_path)


def _validate_resource_names(resource_names: Sequence[str], path: Path) -> Iterator[FieldError]:
    repeats = repeat_positions(resource_names)
    for position, name in enumerate(resource_names):
        item_path = path.index(position)
        yield from check_all(item_path, name, names.check_path_segment(name))
        if position in repeats:
            yield field.duplicate(item_path, name)
