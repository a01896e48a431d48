"""Validation of requests and limits of containers and of Pod-level resources."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from steersman.apimachinery import field, names
from steersman.apimachinery.quantity import Quantity, parse
from steersman.apiserver.kinds.shared.podspec import resource_names
from steersman.apiserver.kinds.shared.podspec.resources import QOS_RESOURCES, container_totals, is_pod_level_resource
from steersman.apiserver.kinds.shared.validation import IS_NEGATIVE, check_all, validate_dns_label

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.kinds.shared.podspec.rules import PodRules

    NameCheck = Callable[[str, Path], Sequence[FieldError]]

_NO_ERRORS: Final[tuple[FieldError, ...]] = ()
_NOT_INTEGER: Final = "must be an integer"
_POD_LEVEL: Final = ("cpu", "hugepages-", "memory")


def check_amount(name: str, amount: str, path: Path) -> Iterator[FieldError]:
    """Validate a resource amount: not negative, and an integer where the resource requires it."""
    return check_all(path, amount, amount_faults(name, parse(amount)))


def amount_faults(name: str, quantity: Quantity) -> list[str]:
    """Return the faults of an amount of a resource."""
    faults: list[str] = []
    if quantity.nanos < 0:
        faults.append(IS_NEGATIVE)
    if resource_names.is_integer(name) and quantity.milli % 1000:
        faults.append(_NOT_INTEGER)
    return faults


def check_resource_name(name: str, path: Path) -> list[FieldError]:
    """Validate a resource name: a standard one, or qualified with a domain."""
    errors = list(check_all(path, name, names.check_qualified_name(name)))
    if not errors and "/" not in name and not resource_names.is_standard(name):
        errors.append(field.invalid(path, name, "must be a standard resource type or fully qualified"))
    return errors


def check_container_resource_name(name: str, path: Path) -> Sequence[FieldError]:
    """Validate a resource name of containers."""
    if name in resource_names.COMPUTE:
        return _NO_ERRORS
    errors = check_resource_name(name, path)
    if "/" not in name:
        if not resource_names.is_standard_of_container(name):
            errors.append(field.invalid(path, name, "must be a standard resource for containers"))
    elif not resource_names.is_native(name) and not resource_names.is_extended(name):
        errors.append(field.invalid(path, name, "doesn't follow extended resource name standard"))
    return errors


def _check_pod_resource_name(name: str, path: Path) -> list[FieldError]:
    errors = check_resource_name(name, path)
    if not errors and not is_pod_level_resource(name):
        errors.append(field.not_supported(path, name, _POD_LEVEL))
    return errors


def validate_requirements(
    resources: Tree | None,
    path: Path,
    claims: frozenset[str],
    rules: PodRules,
    *,
    check_name: NameCheck = check_container_resource_name,
) -> Sequence[FieldError]:
    """Validate ``resources`` of a container. ``claims``: names of the Pod's resource claims."""
    if not resources:
        return _NO_ERRORS
    limits: dict[str, str] = resources.get("limits") or {}
    requests: dict[str, str] = resources.get("requests") or {}
    used = resources.get("claims")
    if not used and check_name is check_container_resource_name and _are_plain(limits, requests):
        return _NO_ERRORS
    errors: list[FieldError] = []
    for kind, amounts in (("limits", limits), ("requests", requests)):
        field_path = path.child(kind)
        for name in sorted(amounts):
            amount = amounts[name]
            quantity = parse(amount)
            key_path = field_path.key(name)
            errors += check_name(name, key_path)
            if faults := amount_faults(name, quantity):
                errors += check_all(key_path, amount, faults)
            if kind == "requests" and (error := _request_error(name, amount, limits.get(name), path)) is not None:
                errors.append(error)
            if resource_names.is_huge_pages(name) and not (
                rules.allow_partial_huge_pages or resource_names.is_whole_pages(name, quantity)
            ):
                detail = f"{quantity} is not positive integer multiple of {name}"
                errors.append(field.invalid(key_path, amount, detail))
    every = limits.keys() | requests.keys()
    if every.isdisjoint(QOS_RESOURCES) and any(map(resource_names.is_huge_pages, every)):
        errors.append(field.forbidden(path, "HugePages require cpu or memory"))
    if used:
        errors += _check_claims(used, path.child("claims"), claims)
    return errors


def _are_plain(limits: dict[str, str], requests: dict[str, str]) -> bool:
    """Report whether all resources are compute resources, with amounts that no rule rejects."""
    for name, amount in limits.items():
        if name not in resource_names.COMPUTE or parse(amount).nanos < 0:
            return False
    for name, amount in requests.items():
        if name not in resource_names.COMPUTE:
            return False
        limit = limits.get(name)
        if limit == amount:
            continue
        nanos = parse(amount).nanos
        if nanos < 0 or (limit is not None and nanos > parse(limit).nanos):
            return False
    return True


def _request_error(name: str, request: str, limit: str | None, path: Path) -> FieldError | None:
    """Return the error of a request beyond its limit; None if it is valid. ``path`` is that of the requirements."""
    if limit is None:
        if resource_names.may_overcommit(name):
            return None
        return field.required(path.child("limits"), "Limit must be set for non overcommitable resources")
    if request == limit:
        return None
    requested, most = parse(request).nanos, parse(limit).nanos
    if requested != most and not resource_names.may_overcommit(name):
        return field.invalid(path.child("requests"), request, f"must be equal to {name} limit of {limit}")
    if requested > most:
        return field.invalid(path.child("requests"), request, f"must be less than or equal to {name} limit of {limit}")
    return None


def _check_claims(used: Sequence[Tree], path: Path, claims: frozenset[str]) -> Iterator[FieldError]:
    seen: set[str] = set()
    with_request: set[str] = set()
    for position, claim in enumerate(used):
        item_path = path.index(position)
        name, request = claim.get("name") or "", claim.get("request") or ""
        if not name:
            yield field.required(item_path)
            continue
        key = f"{name}/{request}" if request else name
        if name in seen:
            yield field.duplicate(item_path, name)
        else:
            if request:
                yield from validate_dns_label(request, item_path.child("request"))
            if key in seen:
                yield field.duplicate(item_path, key)
            elif not request and name in with_request:
                yield field.duplicate(item_path, name)
            seen.add(key)
            if request:
                with_request.add(name)
        if name not in claims:
            yield field.not_found(item_path, name, _unknown_claim_detail(claims))


@lru_cache(maxsize=8)
def _unknown_claim_detail(claims: frozenset[str]) -> str:
    """Return the detail of errors about unknown claims: one shared text, as many errors may include a long list of
    names.
    """
    listed = f": {', '.join(sorted(claims))}" if claims else " which is empty"
    return f"must be one of the names in pod.spec.resourceClaims{listed}"


def validate_pod_resources(spec: Tree, path: Path, claims: frozenset[str], rules: PodRules) -> Iterator[FieldError]:
    """Validate Pod-level resources, and that the containers' totals do not exceed them."""
    resources = spec.get("resources")
    if resources is None:
        return
    if (spec.get("os") or {}).get("name") == "windows":
        yield field.forbidden(path, "may not be set for a windows pod")
        return
    if resources.get("claims") is not None:
        yield field.forbidden(path.child("claims"), "claims cannot be set for Resources at pod-level")
    yield from validate_requirements(resources, path, claims, rules, check_name=_check_pod_resource_name)
    limits = resources.get("limits") or {}
    for kind in ("requests", "limits"):
        own = resources.get(kind) or {}
        for name, total in sorted(container_totals(spec, kind).items()):
            counts = kind == "requests" or resource_names.is_huge_pages(
                name
            )  # limits of other resources may be overcommitted
            if counts and name in own and total > parse(own[name]):
                detail = f"must be greater than or equal to aggregate container {kind} of {total}"
                yield field.invalid(path.child(kind).key(name), own[name], detail)
    for position, container in enumerate(spec.get("containers") or ()):
        for name, limit in sorted(((container.get("resources") or {}).get("limits") or {}).items()):
            if name in limits and parse(limit) > parse(limits[name]):
                limits_path = path.child("containers").index(position).key(name).child("limits")
                yield field.invalid(limits_path, limit, f"must be less than or equal to pod limits of {limits[name]}")
