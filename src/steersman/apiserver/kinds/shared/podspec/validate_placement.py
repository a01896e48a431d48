"""Validation of scheduling constraints: affinity, tolerations, topology spread, readiness and scheduling gates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field, names
from steersman.apiserver.kinds.shared.validation import (
    check_all,
    validate_label_selector,
    validate_qualified_name,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.kinds.shared.podspec.rules import PodRules

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
TAINT_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
#: The last two operators exist in the API, but their feature gate is off.
_ALL_OPERATORS: Final = ("Equal", "Exists", "Lt", "Gt")
_WEIGHT_WRONG: Final = "must be in the range 1-100"
_NOT_AN_OPERATOR: Final = "not a valid selector operator"
_NOT_POSITIVE: Final = "must be greater than zero"


def validate_affinity(affinity: Tree | None, path: Path, rules: PodRules) -> Iterator[FieldError]:
    """Validate node and Pod (anti-)affinity."""
    if not affinity:
        return
    nodes = affinity.get("nodeAffinity") or {}
    node_affinity_path = path.child("nodeAffinity")
    if (required := nodes.get(_REQUIRED)) is not None:
        yield from validate_node_selector(
            required, node_affinity_path.child(_REQUIRED), allow_invalid_values=rules.allow_invalid_node_affinity_values
        )
    for position, term in enumerate(nodes.get(_PREFERRED) or ()):
        item_path = node_affinity_path.child(_PREFERRED).index(position)
        yield from _check_weight(term, item_path)
        yield from _validate_node_term(
            term.get("preference") or {}, item_path.child("preference"), allow_invalid_values=True
        )
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(kind) or {}
        kind_path = path.child(kind)
        for position, term in enumerate(terms.get(_REQUIRED) or ()):
            yield from _validate_pod_term(term, kind_path.child(_REQUIRED).index(position), rules)
        for position, weighted in enumerate(terms.get(_PREFERRED) or ()):
            item_path = kind_path.child(_PREFERRED).index(position)
            yield from _check_weight(weighted, item_path)
            yield from _validate_pod_term(
                weighted.get("podAffinityTerm") or {}, item_path.child("podAffinityTerm"), rules
            )


def _check_weight(term: Tree, path: Path) -> Iterator[FieldError]:
    weight = term.get("weight", 0)
    if not 0 < weight <= 100:
        yield field.invalid(path.child("weight"), weight, _WEIGHT_WRONG)


def validate_node_selector(selector: Tree, path: Path, *, allow_invalid_values: bool = False) -> Iterator[FieldError]:
    """Validate a ``NodeSelector``, whose terms are ORed."""
    terms = selector.get("nodeSelectorTerms")
    terms_path = path.child("nodeSelectorTerms")
    if not terms:
        yield field.required(terms_path, "must have at least one node selector term")
    for position, term in enumerate(terms or ()):
        yield from _validate_node_term(term, terms_path.index(position), allow_invalid_values=allow_invalid_values)


def _validate_node_term(term: Tree, path: Path, *, allow_invalid_values: bool) -> Iterator[FieldError]:
    for position, requirement in enumerate(term.get("matchExpressions") or ()):
        yield from _validate_node_requirement(
            requirement, path.child("matchExpressions").index(position), allow_invalid_values=allow_invalid_values
        )
    for position, requirement in enumerate(term.get("matchFields") or ()):
        yield from _validate_node_field(requirement, path.child("matchFields").index(position))


def _validate_node_requirement(requirement: Tree, path: Path, *, allow_invalid_values: bool) -> Iterator[FieldError]:
    operator, values = requirement.get("operator") or "", requirement.get("values") or ()
    values_path = path.child("values")
    if operator in ("In", "NotIn"):
        if not values:
            yield field.required(values_path, "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            yield field.forbidden(values_path, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            yield field.required(values_path, "must be specified single value when `operator` is 'Lt' or 'Gt'")
    else:
        yield field.invalid(path.child("operator"), operator, _NOT_AN_OPERATOR)
    yield from validate_qualified_name(requirement.get("key") or "", path.child("key"))
    if not allow_invalid_values:
        for position, value in enumerate(values):
            yield from check_all(values_path.index(position), value, names.check_label_value(value))


def _validate_node_field(requirement: Tree, path: Path) -> Iterator[FieldError]:
    operator, values = requirement.get("operator") or "", requirement.get("values") or ()
    if operator not in ("In", "NotIn"):
        yield field.invalid(path.child("operator"), operator, _NOT_AN_OPERATOR)
    elif len(values) != 1:
        detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        yield field.required(path.child("values"), detail)
    key = requirement.get("key") or ""
    if key != "metadata.name":
        yield field.invalid(path.child("key"), key, "not a valid field selector key")
        return
    for position, value in enumerate(values):
        yield from check_all(path.child("values").index(position), value, names.check_dns1123_subdomain(value))


def _validate_pod_term(term: Tree, path: Path, rules: PodRules) -> Iterator[FieldError]:
    for name in ("labelSelector", "namespaceSelector"):
        yield from validate_label_selector(
            term.get(name), path.child(name), allow_invalid_values=rules.allow_invalid_selector_values
        )
    for namespace in term.get("namespaces") or ():
        yield from check_all(path.child("namespace"), namespace, names.check_dns1123_label(namespace))
    yield from _validate_label_keys(term, path)
    key = term.get("topologyKey") or ""
    if not key:
        yield field.required(path.child("topologyKey"), "can not be empty")
    yield from validate_qualified_name(key, path.child("topologyKey"))


def _validate_label_keys(term: Tree, path: Path) -> Iterator[FieldError]:
    """Validate ``matchLabelKeys`` and ``mismatchLabelKeys``: they need a selector that has no requirement for these
    keys.

    The selector of a Pod already has the merged requirements, so only a second one is rejected; templates may have one
    requirement from the client.
    """
    selector = term.get("labelSelector")
    same, other = term.get("matchLabelKeys") or (), term.get("mismatchLabelKeys") or ()
    for name, keys in (("matchLabelKeys", same), ("mismatchLabelKeys", other)):
        if keys and selector is None:
            yield field.forbidden(path.child(name), "must not be specified when labelSelector is not set")
        elif keys:
            for position, key in enumerate(keys):
                yield from validate_qualified_name(key, path.child(name).index(position))
    if selector is not None:
        seen = set(selector.get("matchLabels") or ())
        places = {key: position for position, key in enumerate(same)}
        for requirement in selector.get("matchExpressions") or ():
            key = requirement.get("key") or ""
            if key in places and key in seen:
                detail = "exists in both matchLabelKeys and labelSelector"
                yield field.invalid(path.index(places[key]), key, detail)
            seen.add(key)
    mismatched = set(other)
    for position, key in enumerate(same):
        if key in mismatched:
            detail = "exists in both matchLabelKeys and mismatchLabelKeys"
            yield field.invalid(path.child("matchLabelKeys").index(position), key, detail)


# -- tolerations ------------------------------------------------------------------------------------------------------


def validate_tolerations(tolerations: Sequence[Tree], path: Path) -> list[FieldError]:
    """Validate tolerations."""
    errors: list[FieldError] = []
    for position, toleration in enumerate(tolerations):
        key, operator = toleration.get("key") or "", toleration.get("operator") or ""
        value, effect = toleration.get("value") or "", toleration.get("effect") or ""
        if key:
            if faults := names.check_qualified_name(key):
                errors += check_all(path.index(position).child("key"), key, faults)
        elif operator != "Exists":
            detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            errors.append(field.invalid(path.index(position).child("operator"), operator, detail))
        if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
            detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            errors.append(field.invalid(path.index(position).child("effect"), effect, detail))
        if operator in ("", "Equal"):
            if faults := names.check_label_value(value):
                errors.append(field.invalid(path.index(position).child("operator"), value, ";".join(faults)))
        elif operator == "Exists":
            if value:
                detail = "value must be empty when `operator` is 'Exists'"
                errors.append(field.invalid(path.index(position).child("operator"), value, detail))
        else:
            operators = _ALL_OPERATORS if operator in _ALL_OPERATORS else _ALL_OPERATORS[:2]
            errors.append(field.not_supported(path.index(position).child("operator"), operator, operators))
        if effect and effect not in TAINT_EFFECTS:
            errors.append(field.not_supported(path.index(position).child("effect"), effect, TAINT_EFFECTS))
    return errors


# -- topology spread and gates ----------------------------------------------------------------------------------------


def validate_topology_spread_constraints(
    constraints: Sequence[Tree] | None, path: Path, rules: PodRules
) -> Iterator[FieldError]:
    """Validate topology spread constraints."""
    pairs = [(spread.get("topologyKey") or "", spread.get("whenUnsatisfiable") or "") for spread in constraints or ()]
    last_position = {pair: position for position, pair in enumerate(pairs)}
    for position, constraint in enumerate(constraints or ()):
        item_path = path.index(position)
        skew, key = constraint.get("maxSkew", 0), constraint.get("topologyKey") or ""
        action = constraint.get("whenUnsatisfiable") or ""
        if skew <= 0:
            yield field.invalid(item_path.child("maxSkew"), skew, _NOT_POSITIVE)
        if not key:
            yield field.required(item_path.child("topologyKey"), "can not be empty")
        if action not in ("DoNotSchedule", "ScheduleAnyway"):
            yield field.not_supported(item_path.child("whenUnsatisfiable"), action, ("DoNotSchedule", "ScheduleAnyway"))
        if last_position[key, action] > position:
            yield field.duplicate(item_path.child("{topologyKey, whenUnsatisfiable}"), f"{{{key}, {action}}}")
        yield from _check_min_domains(constraint.get("minDomains"), action, item_path.child("minDomains"))
        for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            policy = constraint.get(name)
            if policy is not None and policy not in ("Honor", "Ignore"):
                yield field.not_supported(item_path.child(name), policy, ("Honor", "Ignore"))
        yield from _validate_label_keys(constraint, item_path)
        if not rules.allow_invalid_spread_selectors:
            yield from validate_label_selector(constraint.get("labelSelector"), item_path.child("labelSelector"))


def _check_min_domains(count: int | None, action: str, path: Path) -> Iterator[FieldError]:
    if count is None:
        return
    if count <= 0:
        yield field.invalid(path, count, _NOT_POSITIVE)
    if action != "DoNotSchedule":
        detail = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        yield field.invalid(path, count, detail)


def validate_gates(spec: Tree, path: Path) -> Iterator[FieldError]:
    """Validate readiness gates and scheduling gates."""
    for position, gate in enumerate(spec.get("readinessGates") or ()):
        condition_type_path = path.child("readinessGates").index(position).child("conditionType")
        yield from validate_qualified_name(gate.get("conditionType") or "", condition_type_path)
    seen: set[str] = set()
    for position, gate in enumerate(spec.get("schedulingGates") or ()):
        gate_path = path.child("schedulingGates").index(position)
        name = gate.get("name") or ""
        yield from validate_qualified_name(name, gate_path)
        if name in seen:
            yield field.duplicate(gate_path, name)
        seen.add(name)
