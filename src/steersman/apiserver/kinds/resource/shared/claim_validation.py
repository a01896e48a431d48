"""Validation of the specs of ResourceClaims, ResourceClaimTemplates and DeviceClasses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery import field, names
from steersman.apiserver.kinds.resource.shared.cel_selectors import check_selector
from steersman.apiserver.kinds.resource.shared.device_rules import (
    EFFECTS,
    check_fully_qualified,
    check_label_name,
    check_list,
    check_opaque,
    check_set,
)
from steersman.apiserver.kinds.shared.podspec.resource_names import is_extended
from steersman.apiserver.kinds.shared.validation import (
    check_all,
    validate_dns_subdomain,
    validate_qualified_name,
    validate_template_object_meta,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.field import FieldError, Path
    from steersman.apimachinery.trees import Tree

_SPEC: Final = field.Path("spec")
_LIST_MAX: Final = 32
_ALTERNATIVES_MAX: Final = 8
_EXPRESSION_MAX_BYTES: Final = 10 * 1024
_ONE_WAY: Final = "exactly one of `exactly` or `firstAvailable` is required"
_REQUEST_NAME: Final = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
)


class RequestNames:
    """Names by which a claim's requests can be referenced: ``gpu``, ``gpu/large``."""

    def __init__(self, spec: Tree) -> None:
        self._request_names: set[str] = set()
        for request in (spec.get("devices") or {}).get("requests") or ():
            name = request.get("name") or ""
            self._request_names.add(name)
            self._request_names |= {f"{name}/{part.get('name') or ''}" for part in request.get("firstAvailable") or ()}

    def check(self, name: str, path: Path) -> Iterator[FieldError]:
        """Validate a reference to a request."""
        parts = name.split("/")
        if len(parts) > 2:
            yield field.invalid(path, name, _REQUEST_NAME)
            return
        for part in parts:
            yield from check_label_name(part, path)
        if name not in self._request_names:
            yield field.invalid(path, name, _REQUEST_NAME)


def validate_claim_spec(spec: Tree, path: Path = _SPEC) -> Iterator[FieldError]:
    """Validate the spec of a claim."""
    devices, devices_path = spec.get("devices") or {}, path.child("devices")
    request_names = RequestNames(spec)
    yield from check_set(
        devices.get("requests"), devices_path.child("requests"), _validate_request, key=_name, max_items=_LIST_MAX
    )

    def check_constraint(constraint: Tree, constraint_path: Path) -> Iterator[FieldError]:
        yield from _check_references(constraint, constraint_path, request_names)
        if (name := constraint.get("matchAttribute")) is not None:
            yield from check_fully_qualified(name, constraint_path.child("matchAttribute"))
        elif (name := constraint.get("distinctAttribute")) is not None:
            yield from check_fully_qualified(name, constraint_path.child("distinctAttribute"))
        else:
            detail = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
            yield field.required(constraint_path, detail)

    def check_config(config: Tree, config_path: Path) -> Iterator[FieldError]:
        yield from _check_references(config, config_path, request_names)
        yield from check_opaque(config, config_path)

    yield from check_list(
        devices.get("constraints"), devices_path.child("constraints"), check_constraint, max_items=_LIST_MAX
    )
    yield from check_list(devices.get("config"), devices_path.child("config"), check_config, max_items=_LIST_MAX)


def validate_template(obj: Tree) -> Iterator[FieldError]:
    """Validate a ResourceClaimTemplate: metadata and spec of its claims."""
    template = obj.get("spec") or {}
    yield from validate_template_object_meta(template.get("metadata") or {}, _SPEC.child("metadata"))
    yield from validate_claim_spec(template.get("spec") or {}, _SPEC.child("spec"))


def validate_class(obj: Tree, old: Tree | None = None) -> Iterator[FieldError]:
    """Validate a DeviceClass."""
    spec = obj.get("spec") or {}
    before = (old.get("spec") or {}) if old is not None else {}
    is_config_unchanged = old is not None and spec.get("config") == before.get("config")
    yield from check_list(spec.get("selectors"), _SPEC.child("selectors"), _validate_selector, max_items=_LIST_MAX)
    yield from check_list(
        spec.get("config"),
        _SPEC.child("config"),
        lambda config, path: check_opaque(config, path, stored=is_config_unchanged),
        max_items=_LIST_MAX,
    )
    name = spec.get("extendedResourceName")
    if name is not None and not is_extended(name):
        detail = "must be a valid extended resource name"
        yield field.invalid(_SPEC.child("extendedResourceName"), name, detail)


def _name(item: Tree) -> Any:
    return item.get("name") or ""


def _check_references(item: Tree, path: Path, request_names: RequestNames) -> Iterator[FieldError]:
    requests_path = path.child("requests")
    yield from check_set(item.get("requests"), requests_path, request_names.check, key=str, max_items=_LIST_MAX)


def _validate_request(request: Tree, path: Path) -> Iterator[FieldError]:
    yield from check_label_name(request.get("name"), path.child("name"))
    exactly, alternatives = request.get("exactly"), request.get("firstAvailable")
    if exactly is None and not alternatives:
        yield field.required(path, _ONE_WAY)
    elif exactly is not None and alternatives:
        yield field.invalid(path, None, f"{_ONE_WAY}, but multiple fields are set")
    elif exactly is not None:
        yield from _validate_exact(exactly, path.child("exactly"))
    else:
        first_available_path = path.child("firstAvailable")
        yield from check_set(
            alternatives, first_available_path, _validate_alternative, key=_name, max_items=_ALTERNATIVES_MAX
        )


def _validate_alternative(request: Tree, path: Path) -> Iterator[FieldError]:
    yield from check_label_name(request.get("name"), path.child("name"))
    yield from _validate_exact(request, path)


def _validate_exact(request: Tree, path: Path) -> Iterator[FieldError]:
    name = request.get("deviceClassName") or ""
    if not name:
        yield field.required(path.child("deviceClassName"))
    else:
        yield from validate_dns_subdomain(name, path.child("deviceClassName"))
    yield from check_list(request.get("selectors"), path.child("selectors"), _validate_selector, max_items=_LIST_MAX)
    mode, count = request.get("allocationMode") or "", request.get("count") or 0
    if mode == "All":
        if count:
            yield field.invalid(path.child("count"), count, "must not be specified when allocationMode is 'All'")
    elif mode == "ExactCount":
        if count <= 0:
            yield field.invalid(path.child("count"), count, "must be greater than zero")
    else:
        yield field.not_supported(path.child("allocationMode"), mode, ("All", "ExactCount"))
    for position, toleration in enumerate(request.get("tolerations") or ()):
        yield from _validate_toleration(toleration, path.child("tolerations").index(position))


def _validate_selector(selector: Tree, path: Path) -> Iterator[FieldError]:
    cel = selector.get("cel")
    if cel is None:
        yield field.required(path.child("cel"))
    elif len((cel.get("expression") or "").encode()) > _EXPRESSION_MAX_BYTES:
        yield field.too_long(path.child("cel", "expression"), max_bytes=_EXPRESSION_MAX_BYTES)
    else:
        yield from check_selector(cel.get("expression") or "", path.child("cel", "expression"))


def _validate_toleration(toleration: Tree, path: Path) -> Iterator[FieldError]:
    key, operator = toleration.get("key") or "", toleration.get("operator") or ""
    value, effect = toleration.get("value") or "", toleration.get("effect") or ""
    if key:
        yield from validate_qualified_name(key, path.child("key"))
    if operator == "Exists":
        if value:
            yield field.invalid(path.child("value"), value, "must be empty for operator `Exists`")
    elif operator == "Equal":
        yield from check_all(path.child("value"), value, names.check_label_value(value))
    elif not operator:
        yield field.required(path.child("operator"))
    else:
        yield field.not_supported(path.child("operator"), operator, ("Equal", "Exists"))
    if effect and effect not in EFFECTS:
        yield field.not_supported(path.child("effect"), effect, EFFECTS)
