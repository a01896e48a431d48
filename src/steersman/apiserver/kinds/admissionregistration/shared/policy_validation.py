"""Validation of admission policies and their bindings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field, jsonpath, names
from steersman.apiserver.kinds.admissionregistration.shared.cel_expressions import PolicyExpressions
from steersman.apiserver.kinds.admissionregistration.shared.matching import (
    FAILURE_POLICIES,
    REINVOCATION_POLICIES,
    check_enum,
    validate_conditions,
    validate_match,
)
from steersman.apiserver.kinds.shared.conditions import validate_conditions as validate_status_conditions
from steersman.apiserver.kinds.shared.go_form import go_form
from steersman.apiserver.kinds.shared.validation import check_all, repeat_positions, validate_label_selector

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree

_SPEC: Final = field.Path("spec")
_REASONS: Final = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_ACTIONS: Final = ("Audit", "Deny", "Warn")
#: Operations that mutating policies may match.
_MUTATED_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "UPDATE")
_PATCH_TYPES: Final = ("ApplyConfiguration", "JSONPatch")
_ANNOTATIONS_MAX: Final = 20
_ANNOTATION_EXPRESSION_MAX_BYTES: Final = 5 * 1024
_EXCLUSIVE: Final = "name and selector are mutually exclusive"
_DENY_AND_WARN: Final = (
    "must not contain both Deny and Warn (repeating the same validation failure information in the API response and "
    "headers serves no purpose)"
)


def validate_validating_policy(obj: Tree) -> Iterator[FieldError]:
    """Validate a ValidatingAdmissionPolicy."""
    spec = obj.get("spec") or {}
    expressions = PolicyExpressions(spec)
    yield from _validate_common(spec, expressions)
    validations, annotations = spec.get("validations") or (), spec.get("auditAnnotations") or ()
    if not validations and not annotations:
        for name in ("validations", "auditAnnotations"):
            detail = "validations or auditAnnotations must contain at least one item"
            yield field.required(_SPEC.child(name), detail)
    for position, validation in enumerate(validations):
        yield from _validate_validation(validation, _SPEC.child("validations").index(position), expressions)
    yield from _validate_annotations(
        annotations, obj["metadata"].get("name") or "", _SPEC.child("auditAnnotations"), expressions
    )


def validate_policy_status(status: Tree) -> Iterator[FieldError]:
    """Validate the status of a policy: type checking and conditions."""
    path = field.Path("status")
    checking, expression_warnings_path = (
        status.get("typeChecking") or {},
        path.child("typeChecking", "expressionWarnings"),
    )
    for position, warning in enumerate(checking.get("expressionWarnings") or ()):
        item_path = expression_warnings_path.index(position)
        if not warning.get("warning"):
            yield field.required(item_path.child("warning"))
        yield from _validate_field_ref((warning.get("fieldRef") or "").strip(), item_path.child("fieldRef"))
    yield from validate_status_conditions(status.get("conditions"), path.child("conditions"))


def _validate_field_ref(reference: str, path: Path) -> Iterator[FieldError]:
    if not reference:
        yield field.required(path)
        return
    try:
        jsonpath.compile_path(reference)
    except jsonpath.JSONPathError as error:
        yield field.invalid(path, reference, f"invalid JSONPath: {error}")


def validate_mutating_policy(obj: Tree) -> Iterator[FieldError]:
    """Validate a MutatingAdmissionPolicy."""
    spec = obj.get("spec") or {}
    expressions = PolicyExpressions(spec)
    yield from _validate_common(spec, expressions, mutates=True)
    mutations = spec.get("mutations") or ()
    if not mutations:
        yield field.required(_SPEC.child("mutations"), "mutations must contain at least one item")
    for position, mutation in enumerate(mutations):
        yield from _validate_mutation(mutation, _SPEC.child("mutations").index(position), expressions)
    policy, path = spec.get("reinvocationPolicy"), _SPEC.child("reinvocationPolicy")
    if not policy:
        yield field.required(path)
    else:
        yield from check_enum(policy, REINVOCATION_POLICIES, path)


def validate_binding(obj: Tree, *, with_actions: bool) -> Iterator[FieldError]:
    """Validate a policy binding. ``with_actions``: of a validating policy, which requires ``validationActions``."""
    spec = obj.get("spec") or {}
    policy = spec.get("policyName") or ""
    if not policy:
        yield field.required(_SPEC.child("policyName"))
    else:
        yield from check_all(_SPEC.child("policyName"), policy, names.check_dns1123_subdomain(policy))
    yield from _validate_parameters(spec.get("paramRef"), _SPEC.child("paramRef"))
    if spec.get("matchResources") is not None:
        yield from validate_match(spec["matchResources"], _SPEC.child("matchResources"))
        if not with_actions:
            yield from _validate_mutated_operations(spec["matchResources"], _SPEC.child("matchResources"))
    if with_actions:
        yield from _validate_actions(spec.get("validationActions") or (), _SPEC.child("validationActions"))


def _validate_common(spec: Tree, expressions: PolicyExpressions, *, mutates: bool = False) -> Iterator[FieldError]:
    policy = spec.get("failurePolicy")
    if policy is None:
        yield field.required(_SPEC.child("failurePolicy"))
    yield from check_enum(policy, FAILURE_POLICIES, _SPEC.child("failurePolicy"))
    if spec.get("paramKind") is not None:
        yield from _validate_kind(spec["paramKind"], _SPEC.child("paramKind"))
    constraints, path = spec.get("matchConstraints"), _SPEC.child("matchConstraints")
    if constraints is None:
        yield field.required(path)
    else:
        yield from validate_match(constraints, path)
        if mutates:
            yield from _validate_mutated_operations(constraints, path)
        if not constraints.get("resourceRules"):
            yield field.required(path.child("resourceRules"))
    conditions, match_conditions_path = spec.get("matchConditions") or (), _SPEC.child("matchConditions")
    yield from validate_conditions(conditions, match_conditions_path, has_params=spec.get("paramKind") is not None)
    for position, variable in enumerate(spec.get("variables") or ()):
        item_path, name = _SPEC.child("variables").index(position), variable.get("name") or ""
        if not name.strip():
            yield field.required(item_path.child("name"), "name is not specified")
        elif not _is_identifier(name):
            yield field.invalid(item_path.child("name"), name, "must be a valid CEL identifier")
        expression, expression_path = variable.get("expression") or "", item_path.child("expression")
        if not expression.strip():
            yield field.required(expression_path, "expression is not specified")
        else:
            yield from expressions.variable(name, expression, expression_path, makes_objects=mutates)


def _validate_mutated_operations(match: Tree, path: Path) -> Iterator[FieldError]:
    """Reject operations that mutating policies cannot match; as upstream, at a path without positions."""
    for rule in match.get("resourceRules") or ():
        for operation in rule.get("operations") or ():
            yield from check_enum(operation, _MUTATED_OPERATIONS, path.child("resourceRules", "operations"))


def _is_identifier(name: str) -> bool:
    from steersman.cel.words import RESERVED, is_name  # noqa: PLC0415 — the language is loaded with the first policy

    return is_name(name) and name not in RESERVED


def _validate_kind(kind: Tree, path: Path) -> Iterator[FieldError]:
    api_version, api_version_path = kind.get("apiVersion") or "", path.child("apiVersion")
    group, _, version = api_version.rpartition("/")
    if not api_version:
        yield field.required(api_version_path)
    elif api_version.count("/") > 1:
        yield field.invalid(api_version_path, api_version, f"unexpected GroupVersion string: {api_version}")
    else:
        if group and (faults := names.check_dns1123_subdomain(group)):
            yield field.invalid(api_version_path, group, ",".join(faults))
        if not version:
            yield field.invalid(api_version_path, api_version, "version must be specified")
        elif faults := names.check_dns1035_label(version):
            yield field.invalid(api_version_path, version, ",".join(faults))
    name = kind.get("kind") or ""
    if not name:
        yield field.required(path.child("kind"))
    elif faults := names.check_dns1035_label(name.lower()):
        detail = f"may have mixed case, but should otherwise match: {','.join(faults)}"
        yield field.invalid(path.child("kind"), name, detail)


def _validate_validation(validation: Tree, path: Path, expressions: PolicyExpressions) -> Iterator[FieldError]:
    expression = validation.get("expression") or ""
    if not expression.strip():
        yield field.required(path.child("expression"), "expression is not specified")
    else:
        yield from expressions.condition(expression, path.child("expression"))
    expression = validation.get("messageExpression") or ""
    if expression and not expression.strip():
        yield field.invalid(path.child("messageExpression"), expression, "must be non-empty if specified")
    elif expression:
        yield from expressions.message(expression, path.child("messageExpression"))
    message = validation.get("message") or ""
    if message and not message.strip():
        yield field.invalid(path.child("message"), message, "must be non-empty if specified")
    elif "\n" in message.strip() or "\r" in message.strip():
        yield field.invalid(path.child("message"), message, "must not contain line breaks")
    yield from check_enum(validation.get("reason"), _REASONS, path.child("reason"))


def _validate_annotations(
    annotations: Sequence[Tree], policy: str, path: Path, expressions: PolicyExpressions
) -> Iterator[FieldError]:
    if len(annotations) > _ANNOTATIONS_MAX:
        yield field.invalid(
            path,
            go_form("AuditAnnotation", [*annotations]),
            f"must not have more than {_ANNOTATIONS_MAX} auditAnnotations",
        )
    seen: set[str] = set()
    for position, annotation in enumerate(annotations):
        item_path, key = path.index(position), annotation.get("key") or ""
        if policy:
            whole = f"{policy}/{key}"
            yield from check_all(item_path.child("key"), whole, names.check_qualified_name(whole))
        else:
            yield field.invalid(item_path.child("key"), key, "requires metadata.name be non-empty")
        expression, value_expression_path = annotation.get("valueExpression") or "", item_path.child("valueExpression")
        if not expression.strip():
            yield field.required(value_expression_path, "valueExpression is not specified")
        elif len(expression.strip().encode()) > _ANNOTATION_EXPRESSION_MAX_BYTES:
            yield field.required(
                value_expression_path, f"must not exceed {_ANNOTATION_EXPRESSION_MAX_BYTES} bytes in length"
            )
        else:
            yield from expressions.audit_annotation(expression, value_expression_path)
        if key in seen:
            yield field.duplicate(item_path.child("key"), key)
        seen.add(key)


def _validate_mutation(mutation: Tree, path: Path, expressions: PolicyExpressions) -> Iterator[FieldError]:
    type_ = mutation.get("patchType") or ""
    if not type_:
        yield field.required(path.child("patchType"))
        return
    if type_ not in _PATCH_TYPES:
        yield field.not_supported(path.child("patchType"), type_, _PATCH_TYPES)
        return
    own, other = ("applyConfiguration", "jsonPatch")[:: 1 if type_ == "ApplyConfiguration" else -1]
    if mutation.get(own) is None:
        yield field.required(path.child(own), f"must be specified when patchType is {type_}")
    elif not (mutation[own].get("expression") or "").strip():
        yield field.required(path.child(own, "expression"))
    else:
        expression = mutation[own]["expression"].strip()
        yield from expressions.mutation(expression, path.child(own, "expression"), patch_type=type_)
    if mutation.get(other) is not None:
        detail = f"must not be specified when patchType is {type_}"
        yield field.invalid(path.child(other), "{" + other + "}", detail)


def _validate_parameters(reference: Tree | None, path: Path) -> Iterator[FieldError]:
    if reference is None:
        return
    name, selector = reference.get("name") or "", reference.get("selector")
    if name:
        yield from check_all(path.child("name"), name, names.check_path_segment(name))
        if selector is not None:
            yield field.forbidden(path.child("name"), _EXCLUSIVE)
    if selector is not None:
        yield from validate_label_selector(selector, path.child("selector"))
        if name:
            yield field.forbidden(path.child("selector"), _EXCLUSIVE)
    if not name and selector is None:
        yield field.required(path, "one of name or selector must be specified")
    action, action_path = reference.get("parameterNotFoundAction"), path.child("parameterNotFoundAction")
    if not action:
        yield field.required(action_path)
    else:
        yield from check_enum(action, ("Deny", "Allow"), action_path)


def _validate_actions(actions: Sequence[str], path: Path) -> Iterator[FieldError]:
    repeats = repeat_positions(actions)
    for position, action in enumerate(actions):
        yield from check_enum(action, _ACTIONS, path.index(position))
        if position in repeats:
            yield field.duplicate(path.index(position), action)
    if "Deny" in actions and "Warn" in actions:
        yield field.invalid(path, actions, _DENY_AND_WARN)
    if not actions:
        yield field.required(path, "at least one validation action is required")
