"""Field and label selectors of access reviews: ``spec.resourceAttributes.fieldSelector`` and ``labelSelector``.

Unknown operators are accepted, because they may be those of a newer client; requirements that the server cannot use
are ignored and reported. Upstream: ``pkg/apis/authorization/validation`` and ``pkg/registry/authorization/util``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field
from steersman.apimachinery.errors import StatusError
from steersman.apimachinery.field import Path
from steersman.apimachinery.selectors import (
    FieldRequirement,
    SelectorError,
    parse_field_selector,
    parse_label_selector,
    validate_label_requirement,
)
from steersman.apimachinery.selectors.labels import Operator
from steersman.apimachinery.selectors.labels import requirement as label_requirement

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.selectors.labels import Requirement
    from steersman.apimachinery.trees import Tree

_ATTRIBUTES: Final = Path("spec", "resourceAttributes")
_VALUES: Final = "must be specified when `operator` is 'In' or 'NotIn'"
_NO_VALUES: Final = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
_LABEL_OPERATORS: Final = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.DOES_NOT_EXIST,
}
_OPERATORS: Final = frozenset({"In", "NotIn", "Exists", "DoesNotExist"})


def validate_selectors(attributes: Tree) -> list[FieldError]:
    """Validate both selectors of ``resourceAttributes``."""
    errors: list[FieldError] = []
    for name in ("fieldSelector", "labelSelector"):
        selector = attributes.get(name)
        if selector is not None:
            errors += _validate_selector(selector, _ATTRIBUTES.child(name), is_of_labels=name == "labelSelector")
    return errors


def _validate_selector(selector: Tree, path: Path, *, is_of_labels: bool) -> list[FieldError]:
    raw, requirements = selector.get("rawSelector"), selector.get("requirements")
    errors: list[FieldError] = []
    if raw and requirements:
        detail = "may not specified at the same time as requirements"
        errors.append(field.invalid(path.child("rawSelector"), raw, detail))
    if not raw and not requirements:
        detail = f"when {path} is specified, requirements or rawSelector is required"
        errors.append(field.required(path.child("requirements"), detail))
    for position, requirement in enumerate(requirements or ()):
        item_path = path.child("requirements").index(position)
        if is_of_labels:
            errors += validate_label_requirement(requirement, item_path, allow_unknown_operator=True)
        else:
            errors += _validate_field_requirement(requirement, item_path)
    return errors


def _validate_field_requirement(requirement: Tree, path: Path) -> list[FieldError]:
    """Upstream: ``ValidateFieldSelectorRequirement``."""
    errors: list[FieldError] = []
    if not requirement.get("key"):
        errors.append(field.required(path.child("key"), "must be specified"))
    operator, values = requirement.get("operator", ""), requirement.get("values")
    if operator in ("In", "NotIn"):
        if not values:
            errors.append(field.required(path.child("values"), _VALUES))
    elif operator in _OPERATORS and values:
        errors.append(field.forbidden(path.child("values"), _NO_VALUES))
    return errors


def field_requirements(attributes: Tree) -> tuple[FieldRequirement, ...]:
    """Return the usable requirements of the field selector. Upstream: ``fieldSelectorAsSelector``."""
    selector = attributes.get("fieldSelector") or {}
    if raw := selector.get("rawSelector"):
        try:
            return parse_field_selector(raw).requirements
        except (SelectorError, StatusError):
            return ()
    return tuple(
        FieldRequirement(requirement.get("key", ""), requirement["values"][0], requirement["operator"] == "In")
        for requirement in selector.get("requirements") or ()
        if _is_usable(requirement)
    )


def label_requirements(attributes: Tree) -> tuple[Requirement, ...]:
    """Return the usable requirements of the label selector. Upstream: ``labelSelectorAsSelector``."""
    selector = attributes.get("labelSelector") or {}
    if raw := selector.get("rawSelector"):
        try:
            return tuple(parse_label_selector(raw).requirements)
        except SelectorError:
            return ()
    usable = []
    for requirement in selector.get("requirements") or ():
        operator = _LABEL_OPERATORS.get(requirement.get("operator", ""))
        if operator is not None:
            usable.append(label_requirement(requirement.get("key", ""), operator, requirement.get("values") or ()))
    return tuple(usable)


def _is_usable(requirement: Tree) -> bool:
    """Report whether a requirement on a field has an operator and a number of values that field selectors know."""
    return requirement.get("operator") in ("In", "NotIn") and len(requirement.get("values") or ()) == 1


def evaluation_error(attributes: Tree) -> str:
    """Return the error about ignored requirements; empty if none is ignored. Upstream: ``BuildEvaluationError``."""
    errors = []
    for name, parse, is_usable in (
        ("fieldSelector", parse_field_selector, _is_usable),
        ("labelSelector", parse_label_selector, lambda requirement: requirement.get("operator") in _OPERATORS),
    ):
        selector = attributes.get(name) or {}
        if raw := selector.get("rawSelector"):
            usable, count = int(_is_parsed(parse, raw)), 1
        else:
            requirements = selector.get("requirements") or ()
            usable, count = sum(map(is_usable, requirements)), len(requirements)
        if usable < count:
            part = "partially ignored" if usable else "ignored"
            errors.append(f"{_ATTRIBUTES.child(name)} {part} due to parse error")
    return errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]" if errors else ""


def _is_parsed(parse: Callable[[str], object], text: str) -> bool:
    try:
        parse(text)
    except (SelectorError, StatusError):
        return False
    return True
