"""Strategy of IngressClasses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery import field, names
from steersman.apimachinery.domain_paths import check_domain_prefixed_path
from steersman.apiserver.generic import columns
from steersman.apiserver.generic.strategy import Column, Strategy
from steersman.apiserver.kinds.networking.shared.references import validate_local_reference
from steersman.apiserver.kinds.shared.validation import check_all, check_unchanged

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.request import RequestContext


_SPEC: Final = field.Path("spec")
_CONTROLLER_MAX_BYTES: Final = 250
_SCOPES: Final = ("Cluster", "Namespace")
_IS_DEFAULT: Final = "ingressclass.kubernetes.io/is-default-class"


class IngressClassStrategy(Strategy):
    """Strategy of IngressClasses. The scope of parameters defaults to Cluster."""

    group_resource = "ingressclasses.networking.k8s.io"
    has_generation = True
    metadata_checks_on_update = (1, 1)
    columns = (
        columns.NAME_COLUMN,
        Column("Controller", description="Controller that is responsible for handling this class"),
        Column("Parameters", description="A reference to a resource with additional parameters"),
        columns.AGE_COLUMN,
    )

    def default(self, obj: Tree, version: str) -> None:
        parameters = (obj.get("spec") or {}).get("parameters")
        if parameters is not None and parameters.get("scope") is None:
            parameters["scope"] = "Cluster"

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return list(_validate(obj.get("spec") or {}))

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        spec, before = obj.get("spec") or {}, old.get("spec") or {}
        unchanged = check_unchanged(spec.get("controller"), before.get("controller"), _SPEC.child("controller"))
        return [*unchanged, *_validate(spec)]

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        spec = obj.get("spec") or {}
        name = columns.name_of(obj)
        if (obj["metadata"].get("annotations") or {}).get(_IS_DEFAULT) == "true":
            name += " (default)"
        return [
            name,
            spec.get("controller", ""),
            _parameters(spec.get("parameters")),
            columns.age(obj, now),
        ]


def _parameters(parameters: Tree | None) -> str:
    if parameters is None:
        return columns.NONE
    kind = parameters.get("kind", "")
    group = parameters.get("apiGroup")
    return f"{kind}/{parameters.get('name', '')}" if group is None else f"{kind}.{group}/{parameters.get('name', '')}"


def _validate(spec: Tree) -> Iterator[FieldError]:
    controller = spec.get("controller") or ""
    if len(controller.encode()) > _CONTROLLER_MAX_BYTES:
        yield field.too_long(_SPEC.child("controller"), max_bytes=_CONTROLLER_MAX_BYTES)
    yield from check_domain_prefixed_path(controller, _SPEC.child("controller"))
    parameters, path = spec.get("parameters"), _SPEC.child("parameters")
    if parameters is None:
        return
    yield from validate_local_reference(parameters, path)
    scope, namespace = parameters.get("scope"), parameters.get("namespace")
    if scope is None:
        yield field.required(path.child("scope"))
    elif scope not in _SCOPES:
        yield field.not_supported(path.child("scope"), scope, _SCOPES)
    elif scope == "Cluster":
        if namespace is not None:
            yield field.forbidden(path.child("namespace"), "`parameters.scope` is set to 'Cluster'")
    elif namespace is None:
        yield field.required(path.child("namespace"), "`parameters.scope` is set to 'Namespace'")
    else:
        yield from check_all(path.child("namespace"), namespace, names.check_dns1123_label(namespace))
