"""Validation of ResourceQuotas and LimitRanges, and warnings about quotas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery import field, names
from steersman.apimachinery.quantity import Quantity, parse
from steersman.apiserver.kinds.shared.podspec import resource_names
from steersman.apiserver.kinds.shared.podspec.validate_resources import (
    check_amount,
    check_container_resource_name,
    check_resource_name,
)
from steersman.apiserver.kinds.shared.validation import FIELD_IS_IMMUTABLE, check_all

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree

_SPEC: Final = field.Path("spec")
_POD_SCOPES: Final = ("Terminating", "NotTerminating", "BestEffort", "NotBestEffort")
_SCOPES_THAT_EXIST: Final = (*_POD_SCOPES, "CrossNamespacePodAffinity")
_SCOPES: Final = (*_POD_SCOPES, "PriorityClass", "CrossNamespacePodAffinity", "VolumeAttributesClass")
_EXCLUSIVE: Final = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
#: Resources that scopes of Pods may count.
_POD_RESOURCES: Final = frozenset(
    ("pods", *(f"{prefix}{name}" for prefix in ("", "requests.", "limits.") for name in ("cpu", "memory")))
)
_ONLY_EXISTS: Final = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)
_LIMIT_TYPES: Final = ("Pod", "Container", "PersistentVolumeClaim")
#: Below this, ratios are computed in milli-units.
_MILLI_MAX: Final = ((1 << 63) - 1) // 1000


# -- quotas -----------------------------------------------------------------------------------------------------------


def quota_warnings(obj: Tree) -> list[str]:
    """Yield warnings about requests that exceed limits, which no Pod can satisfy."""
    hard = (obj.get("spec") or {}).get("hard") or {}
    warnings: list[str] = []
    for name in sorted(hard):
        resource = name.removeprefix("requests.")
        limit = hard.get(f"limits.{resource}")
        if limit is not None and parse(hard[name]) > parse(limit):
            warnings.append(f"ResourceQuota {name} ({hard[name]}) should be less than limits.{resource} ({limit})")
    return warnings


def validate_quota(obj: Tree) -> list[FieldError]:
    """Validate the spec of a ResourceQuota."""
    spec = obj.get("spec") or {}
    errors = list(_validate_amounts(spec.get("hard") or {}, _SPEC.child("hard")))
    errors += _validate_scopes(spec)
    errors += _validate_scope_selector(spec)
    return errors


def validate_quota_update(obj: Tree, old: Tree) -> list[FieldError]:
    """Validate an update; scopes are immutable."""
    errors = validate_quota(obj)
    new = (obj.get("spec") or {}).get("scopes") or []
    if set(new) != set((old.get("spec") or {}).get("scopes") or []):
        errors.append(field.invalid(_SPEC.child("scopes"), new or None, FIELD_IS_IMMUTABLE))
    return errors


def validate_quota_status(obj: Tree) -> list[FieldError]:
    """Validate the status of a ResourceQuota."""
    status = obj.get("status") or {}
    return [
        error
        for name in ("hard", "used")
        for error in _validate_amounts(status.get(name) or {}, field.Path("status", name))
    ]


def _validate_amounts(amounts: Tree, path: Path) -> Iterator[FieldError]:
    for name in sorted(amounts):
        key_path = path.key(name)
        yield from check_resource_name(name, key_path)
        if "/" not in name and not resource_names.is_standard_of_quota(name):
            yield field.invalid(key_path, name, "must be a standard resource for quota")
        yield from check_amount(name, amounts[name], key_path)


def _is_applicable(scope: str, name: str) -> bool:
    """Report whether the scope applies to the resource."""
    if scope == "BestEffort":
        return name == "pods"
    if scope == "VolumeAttributesClass":
        return name in ("persistentvolumeclaims", "requests.storage")
    return scope not in _SCOPES or name in _POD_RESOURCES


#: Errors about one scope, which have the same text.
_MISFITS_MAX: Final = 100


def _count_inapplicable(scope: str, spec: Tree) -> int:
    return sum(
        resource_names.is_standard_of_quota(name) and not _is_applicable(scope, name) for name in spec.get("hard") or ()
    )


def _validate_scopes(spec: Tree) -> Iterator[FieldError]:
    scopes = spec.get("scopes") or []
    path = _SPEC.child("scopes")
    for scope in scopes:
        if scope not in _SCOPES:
            yield field.invalid(path, scopes, "unsupported scope")
        for _ in range(min(_count_inapplicable(scope, spec), _MISFITS_MAX)):
            yield field.invalid(path, scopes, "unsupported scope applied to resource")
    yield from _validate_no_conflicts(scopes, scopes, path)


def _validate_no_conflicts(scopes: Sequence[str], shown: Any, path: Path) -> Iterator[FieldError]:
    for pair in _EXCLUSIVE:
        if set(pair) <= set(scopes):
            yield field.invalid(path, shown, "conflicting scopes")


def _go_selector(selector: Tree) -> Tree:
    """Return the selector as Go prints the internal type, which has no JSON names."""
    names_ = {"ScopeName": "scopeName", "Operator": "operator", "Values": "values"}
    zeros = {"ScopeName": "", "Operator": "", "Values": None}
    return {
        "MatchExpressions": [
            {shown: requirement.get(name) or zeros[shown] for shown, name in names_.items()}
            for requirement in selector.get("matchExpressions") or ()
        ]
    }


def _validate_scope_selector(spec: Tree) -> Iterator[FieldError]:
    selector = spec.get("scopeSelector")
    if selector is None:
        return
    path = _SPEC.child("scopeSelector", "matchExpressions")
    names: list[str] = []
    for requirement in selector.get("matchExpressions") or ():
        scope, operator = requirement.get("scopeName") or "", requirement.get("operator") or ""
        values = requirement.get("values") or []
        if scope not in _SCOPES:
            yield field.invalid(path.child("scopeName"), scope, "unsupported scope")
        for _ in range(min(_count_inapplicable(scope, spec), _MISFITS_MAX)):
            yield field.invalid(path, _go_selector(selector), "unsupported scope applied to resource")
        if scope in _SCOPES_THAT_EXIST and operator != "Exists":
            yield field.invalid(path.child("operator"), operator, _ONLY_EXISTS)
        if operator in ("In", "NotIn"):
            if not values:
                detail = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
                yield field.required(path.child("values"), detail)
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
                yield field.invalid(path.child("values"), values, detail)
        else:
            yield field.invalid(path.child("operator"), operator, "not a valid selector operator")
        names.append(scope)
    yield from _validate_no_conflicts(names, spec.get("scopes"), path)


# -- limit ranges -----------------------------------------------------------------------------------------------------


def validate_limit_range(obj: Tree) -> list[FieldError]:
    """Validate a LimitRange."""
    errors: list[FieldError] = []
    seen: set[str] = set()
    for position, item in enumerate((obj.get("spec") or {}).get("limits") or ()):
        path = _SPEC.child("limits").index(position)
        kind = item.get("type") or ""
        faults = names.check_qualified_name(kind)
        errors += check_all(path.child("type"), kind, faults)
        if not faults and "/" not in kind and kind not in _LIMIT_TYPES:
            detail = "must be a standard limit type or fully qualified"
            errors.append(field.invalid(path.child("type"), kind, detail))
        if kind in seen:
            errors.append(field.duplicate(path.child("type"), kind))
        seen.add(kind)
        errors += _validate_limit_names(item, kind, path)
        errors += _validate_limit_amounts(item, kind, path)
    return errors


def _validate_limit_names(item: Tree, kind: str, path: Path) -> Iterator[FieldError]:
    check = check_container_resource_name if kind in ("Pod", "Container") else check_resource_name
    for name in ("max", "min", "default", "defaultRequest"):
        amounts = item.get(name) or {}
        if kind == "Pod" and name in ("default", "defaultRequest"):
            if amounts:
                yield field.forbidden(path.child(name), "may not be specified when `type` is 'Pod'")
            continue
        for resource in sorted(amounts):
            yield from check(resource, path.child(name).key(resource))
    if kind == "PersistentVolumeClaim" and not any("storage" in (item.get(name) or {}) for name in ("min", "max")):
        detail = "either minimum or maximum storage value is required, but neither was provided"
        yield field.required(path.child("limits"), detail)
    for resource in sorted(item.get("maxLimitRequestRatio") or {}):
        yield from check(resource, path.child("maxLimitRequestRatio").key(resource))


def _validate_limit_amounts(item: Tree, kind: str, path: Path) -> Iterator[FieldError]:
    lists: dict[str, dict[str, Quantity]] = {
        name: {resource: parse(amount) for resource, amount in (item.get(name) or {}).items()}
        for name in ("min", "max", "default", "defaultRequest", "maxLimitRequestRatio")
    }
    if kind == "Pod":
        lists["default"] = lists["defaultRequest"] = {}
    for resource in sorted({resource for amounts in lists.values() for resource in amounts}):
        least, most = lists["min"].get(resource), lists["max"].get(resource)
        default, request = lists["default"].get(resource), lists["defaultRequest"].get(resource)
        if least is not None and most is not None and least > most:
            key_path = path.child("min").key(resource)
            yield field.invalid(key_path, str(least), f"min value {least} is greater than max value {most}")
        yield from _validate_limit_defaults(resource, path, least=least, most=most, default=default, request=request)
        ratio = lists["maxLimitRequestRatio"].get(resource)
        if ratio is not None:
            yield from _validate_limit_ratio(ratio, least, most, path.child("maxLimitRequestRatio").key(resource))
        if resource_names.may_overcommit(resource):
            continue
        if default is not None and request is not None and default != request:
            detail = f"default value {default} must equal to defaultRequest value {request} in {resource}"
            yield field.invalid(path.child("defaultRequest").key(resource), str(request), detail)


def _validate_limit_defaults(
    resource: str,
    path: Path,
    *,
    least: Quantity | None,
    most: Quantity | None,
    default: Quantity | None,
    request: Quantity | None,
) -> Iterator[FieldError]:
    key_path = path.child("defaultRequest").key(resource)
    if request is not None:
        if least is not None and least > request:
            detail = f"min value {least} is greater than default request value {request}"
            yield field.invalid(key_path, str(request), detail)
        if most is not None and request > most:
            detail = f"default request value {request} is greater than max value {most}"
            yield field.invalid(key_path, str(request), detail)
        if default is not None and request > default:
            detail = f"default request value {request} is greater than default limit value {default}"
            yield field.invalid(key_path, str(request), detail)
    key_path = path.child("default").key(resource)
    if default is not None and least is not None and least > default:
        yield field.invalid(key_path, str(least), f"min value {least} is greater than default value {default}")
    if default is not None and most is not None and default > most:
        yield field.invalid(key_path, str(most), f"default value {default} is greater than max value {most}")


def _validate_limit_ratio(
    ratio: Quantity, least: Quantity | None, most: Quantity | None, path: Path
) -> Iterator[FieldError]:
    if ratio < Quantity.of(1):
        yield field.invalid(path, str(ratio), f"ratio {ratio} is less than 1")
    if least is None or most is None or not least:
        return
    if max(map(int, (ratio, least, most))) < _MILLI_MAX:
        value, bound = ratio.milli / 1000, most.milli / least.milli
    else:
        value, bound = float(int(ratio)), int(most) / int(least)
    if value > bound:
        yield field.invalid(path, str(ratio), f"ratio {ratio} is greater than max/min = {bound:f}")
