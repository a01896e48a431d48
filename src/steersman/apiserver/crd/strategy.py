"""Strategy of a custom resource in one version, derived from its definition."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final

from steersman.apimachinery import field, jsonpath, names
from steersman.apimachinery.errors import forbidden, invalid
from steersman.apimachinery.field import ErrorType
from steersman.apimachinery.gotext import general_float_text, quote, to_json
from steersman.apimachinery.trees import Tree, copy_tree
from steersman.apiserver.crd import structure
from steersman.apiserver.crd.pruning import prune
from steersman.apiserver.crd.ratcheting import new_faults
from steersman.apiserver.crd.scaling import validate_scale_spec, validate_scale_status
from steersman.apiserver.generic import columns
from steersman.apiserver.generic.strategy import Column, ScalePaths, Strategy
from steersman.apiserver.kinds.apiextensions.customresourcedefinition.embedded import validate_embedded
from steersman.schema import openapi_values
from steersman.schema.gotime import normalize_seconds
from steersman.schema.openapi_values import placed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from steersman.apimachinery.field import FieldError
    from steersman.apiserver.crd.definition import CustomVersion
    from steersman.apiserver.request import RequestContext
    from steersman.schema.openapi_values import Fault

_AGE: Tree = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}


class DefinitionState:
    """Lifecycle state of a definition."""

    __slots__ = ("is_terminating",)

    def __init__(self) -> None:
        self.is_terminating = False


class CustomResourceStrategy(Strategy):
    """Strategy of one served version, with its schema, columns and subresources; replaced when the definition changes."""

    has_generation = True
    is_metered = True
    allow_unconditional_update = False
    finalizers_need_domains = False
    reset_fields = {"": (("status",),), "status": (("metadata",), ("spec",))}

    def __init__(
        self,
        version: CustomVersion,
        stored: CustomVersion,
        field_labels: Mapping[str, Callable[[Tree], str]],
        life: DefinitionState,
        versions: Mapping[str, CustomVersion],
    ) -> None:
        """``stored``: version of the objects in the write pipeline. ``versions``: those in which objects may be stored, by apiVersion.

        ``field_labels``: those of all versions that share entries of a watch cache.
        """
        self._version: Final = version
        self._stored: Final = stored
        self._life: Final = life
        self._versions: Final = versions
        self.group_resource = version.resource.group_resource  # type: ignore[misc]  # of the instance, as the rest
        self.scale = _scale_paths(version.scale)  # type: ignore[misc]
        self.columns = _columns(version)  # type: ignore[misc]
        self._columns: Final = _usable(version.columns) if version.columns else (_AGE,)
        self.field_labels = field_labels  # type: ignore[misc]
        if not version.has_status:
            self.reset_fields = {}  # type: ignore[misc]

    def default(self, obj: Tree, version: str) -> None:
        if self._version.has_defaults:
            structure.fill_defaults(self._version.shape, obj)

    def prepare_for_create(self, ctx: RequestContext, obj: Tree) -> None:
        if self._life.is_terminating:
            detail = "create not allowed while custom resource definition is terminating"
            raise forbidden(self.group_resource, obj["metadata"].get("name") or "", detail)
        if self._version.has_status:
            obj.pop("status", None)

    def prepare_for_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        if self._version.has_status:
            super().prepare_for_update(ctx, obj, old)

    def prepare_for_status_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> None:
        """Reset everything but the status; unlike for built-in kinds, also metadata and the kind."""
        super().prepare_for_status_update(ctx, obj, old)
        obj["kind"] = old["kind"]
        written = obj["metadata"]
        preserved = {key: value for key, value in old["metadata"].items() if key != "managedFields"}
        obj["metadata"] = preserved | {key: written[key] for key in _WRITTEN if key in written}

    def validate(self, ctx: RequestContext, obj: Tree) -> Sequence[FieldError]:
        return self._validate(ctx, obj, None)

    def validate_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        return self._validate(ctx, obj, old)

    def _validate(self, ctx: RequestContext, obj: Tree, old: Tree | None) -> Sequence[FieldError]:
        """Validate in the version of the request, to which ``obj`` and ``old`` are converted."""
        version = self._version
        self._check_kind(obj)
        obj = {**obj, "apiVersion": version.resource.api_version}
        schema = version.schema
        faults: Sequence[Fault] = () if schema.acceptor.accepts(obj) else openapi_values.validate(schema.tree, obj)
        if old is not None:
            old = structure.shown(version, self._stored, copy_tree(old), self._versions)
            faults = new_faults(schema.tree, faults, obj, old)
        errors = [
            *(placed(fault.error) for fault in faults if fault.error.type is not ErrorType.DUPLICATE),
            *validate_scale_spec(version.scale, obj),
            *validate_scale_status(version.scale, obj),
            *validate_embedded(version.shape, obj),
            *(fault.error for fault in faults if fault.error.type is ErrorType.DUPLICATE),
        ]
        return version.schema.rules.validate(obj, old, faults=errors, warn=ctx.warn)

    def validate_status_update(self, ctx: RequestContext, obj: Tree, old: Tree) -> Sequence[FieldError]:
        """Validate the status; messages name its fields relative to the object."""
        version = self._version
        self._check_kind(obj)
        obj = {**obj, "apiVersion": version.resource.api_version}
        old = structure.shown(version, self._stored, copy_tree(old), self._versions)
        schema = (version.schema.tree.get("properties") or {}).get("status")
        errors: list[FieldError] = []
        if schema is not None and "status" in obj:
            faults = openapi_values.validate(schema, obj["status"])
            new = new_faults(schema, faults, obj["status"], old.get("status"))
            errors += [placed(fault.error, "status") for fault in new]
        errors += validate_scale_status(version.scale, obj)
        return version.schema.rules.validate(obj, old, faults=errors, warn=ctx.warn)

    def _check_kind(self, obj: Tree) -> None:
        """Raise 422 for an object to which mutating admission gave another kind.

        Upstream: ``customResourceValidator.ValidateTypeMeta``; as there, the error names the object by its new kind.
        """
        resource, kind = self._version.resource, obj.get("kind")
        if isinstance(kind, str) and kind != resource.kind:
            wrong = field.invalid("kind", kind, f"must be {resource.kind}")
            raise invalid(f"{kind}.{resource.group}", obj["metadata"].get("name") or "", [wrong])

    def canonicalize(self, obj: Tree) -> None:
        """Prune fields that the storage version does not specify."""
        if self._version is not self._stored:
            pruned = prune(self._stored.shape, obj).tree
            obj.clear()
            obj.update(pruned)

    def warnings(self, ctx: RequestContext, obj: Tree, old: Tree | None) -> Sequence[str]:
        """Warn about new finalizers without a domain."""
        before = old["metadata"].get("finalizers") or () if old is not None else ()
        added = sorted(set(obj["metadata"].get("finalizers") or ()).difference(before))
        return [text for name in added for text in _finalizer_warnings(name)]

    def generation_view(self, obj: Tree) -> Any:
        left_out = ("apiVersion", "kind", "metadata", "status") if self._version.has_status else _ENVELOPE
        if self._stored.has_defaults:  # an object stored before the schema had them
            obj = copy_tree(obj)
            structure.fill_defaults(self._stored.shape, obj)
        return {key: value for key, value in obj.items() if key not in left_out}

    def cells(self, obj: Tree, now: datetime) -> list[Any]:
        shown = self._columns
        return [columns.name_of(obj), *(_cell(column, obj, now) for column in shown)]


def _finalizer_warnings(name: str) -> Iterator[str]:
    prefix = f"metadata.finalizers: {quote(name)}"
    for fault in names.check_qualified_name(name):
        yield f"{prefix}: {fault}"
    if "/" not in name and name not in _STANDARD_FINALIZERS:
        yield (
            f"{prefix}: prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with "
            "other finalizer writers"
        )


_STANDARD_FINALIZERS = ("orphan", "foregroundDeletion")
#: Metadata fields that a status update sets.
_WRITTEN = ("managedFields", "resourceVersion")
_COLUMN_TEXT = "Custom resource definition column (in JSONPath format): "
_ENVELOPE = ("apiVersion", "kind", "metadata")
_NO_TIME = "<invalid>"
#: Text of a null.
_NO_VALUE = "<no value>"


def _columns(version: CustomVersion) -> tuple[Column, ...]:
    if not version.columns:
        return (columns.NAME_COLUMN, Column("Age", type="date", field=columns.AGE_COLUMN.field))
    return (columns.NAME_COLUMN, *map(_column, _usable(version.columns)))


def _usable(definitions: Sequence[Tree]) -> Sequence[Tree]:
    """Return the columns before the first one whose path cannot be parsed: upstream's table convertor stops there."""
    return tuple(takewhile(lambda column: jsonpath.is_valid(column["jsonPath"]), definitions))


def _column(column: Tree) -> Column:
    text = column.get("description") or f"{_COLUMN_TEXT}{column['jsonPath']}"
    return Column(
        column["name"], column.get("type", "string"), column.get("format", ""), column.get("priority", 0), text
    )


def _cell(column: Tree, obj: Tree, now: datetime) -> Any:
    """Return the first value at the column's path if it has the column's type: an age for a date, anything for a
    string.
    """
    try:
        values = jsonpath.find(column["jsonPath"], obj)
    except jsonpath.JSONPathError:
        return None
    if not values:
        return None
    value = values[0]
    match column.get("type"), value:
        case "string", _:
            return _text(value)
        case "date", str():
            return _age(value, now)
        case "boolean", bool():
            return value
        case ("integer", int() | float()) if not isinstance(value, bool):
            return int(value)
        case ("number", int() | float()) if not isinstance(value, bool):
            return value
    return None


def _age(text: str, now: datetime) -> str:
    if text in ("", "null"):
        return columns.UNKNOWN
    try:
        return columns.since(normalize_seconds(text), now)
    except ValueError:
        return _NO_TIME


def _text(value: Any) -> str:
    """Return the text of a value as ``PrintResults`` of ``k8s.io/client-go/util/jsonpath`` writes it."""
    if isinstance(value, str):
        return value
    if value is None:
        return _NO_VALUE
    return general_float_text(value) if isinstance(value, float) else to_json(value, sort_keys=True)


def labels_of(versions: Iterable[CustomVersion]) -> Mapping[str, Callable[[Tree], str]]:
    """Return the selectable fields of all versions as field labels."""

    def read(path: str) -> Callable[[Tree], str]:
        def value(obj: Tree) -> str:
            values = jsonpath.find(path, obj)
            return _text(values[0]) if values and values[0] is not None else ""

        return value

    return {path.removeprefix("."): read(path) for version in versions for path in version.resource.selectable_fields}


def _scale_paths(scale: Tree | None) -> ScalePaths | None:
    if scale is None:
        return None

    def parts(path: str) -> tuple[str, ...]:
        return tuple(path.strip(".").split(".")) if path else ()

    return ScalePaths(
        parts(scale.get("specReplicasPath", "")),
        parts(scale.get("statusReplicasPath", "")),
        parts(scale.get("labelSelectorPath", "")),
    )
