"""Resource types: the resource of a Python class or of an ``apiVersion`` and kind, with the class of its objects."""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from steersman.apimachinery.trees import Tree
from steersman.schema.resources import Resource, table

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")

_MODELS: Final = "lightkube.models."
_CUSTOM_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")

#: Classes of custom resources, registered by ``custom``.
_custom_models: dict[type, ResourceType[Any]] = {}


class ResourceType(Generic[T]):
    """A resource and the class that its objects are decoded to: a msgspec struct, or ``dict`` for plain trees."""

    __slots__ = ("accept_as", "info", "model")

    def __init__(self, info: Resource, model: type[T], *, accept_as: str = "") -> None:
        self.info = info
        self.model = model
        #: Kind of ``meta.k8s.io/v1`` that the server converts each object to; empty: no conversion.
        self.accept_as = accept_as

    def __repr__(self) -> str:
        return f"ResourceType({self.info.api_version} {self.info.kind}, {self.model.__name__})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ResourceType) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[str, str, str, type, str]:
        return self.info.group, self.info.version, self.info.name, self.model, self.accept_as

    @property
    def is_tree(self) -> bool:
        """True if objects are plain trees."""
        return self.model is dict

    def as_trees(self) -> ResourceType[Tree]:
        """Return the resource with plain trees."""
        return ResourceType(self.info, Tree if self.model is Tree else dict)


def typed(model: type[T]) -> ResourceType[T]:
    """Return the resource of a class: from ``lightkube.models``, ``lightkube.resources`` or registered with ``custom``.

    Raises LookupError for any other class.
    """
    for base in model.__mro__:
        if base in _custom_models:
            return ResourceType(_custom_models[base].info, model)
        if base.__module__.startswith(_MODELS):
            info = _by_model().get((base.__module__.removeprefix(_MODELS), base.__name__))
            if info is not None:
                return ResourceType(info, model)
    raise LookupError(f"{model.__module__}.{model.__name__} is the class of no resource; see steersman.client.custom")


def tree(api_version: str, kind: str) -> ResourceType[Tree]:
    """Return a built-in resource with plain trees. Raises LookupError.

    For others see ``custom`` and ``Client.discover``.
    """
    return ResourceType(_builtin(api_version, kind), dict)


def typed_model(api_version: str, kind: str) -> ResourceType[Any]:
    """Return a built-in resource with its class of ``lightkube.models``. Raises LookupError."""
    info = _builtin(api_version, kind)
    module, name = _model_name(info)
    return ResourceType(info, getattr(importlib.import_module(_MODELS + module), name))


def custom(
    api_version: str,
    kind: str,
    *,
    plural: str,
    namespaced: bool = True,
    model: type[T] = dict,  # type: ignore[assignment]
    singular: str = "",
    verbs: Sequence[str] = _CUSTOM_VERBS,
) -> ResourceType[T]:
    """Return a custom resource. Registers ``model``, a msgspec struct with a ``metadata`` field, as its class."""
    group, _, version = api_version.rpartition("/")
    info = Resource(
        group=group,
        version=version,
        name=plural,
        kind=kind,
        singular=singular or kind.lower(),
        namespaced=namespaced,
        verbs=tuple(verbs),
    )
    resource = ResourceType(info, model)
    if not resource.is_tree:
        _custom_models[model] = resource
    return resource


def _builtin(api_version: str, kind: str) -> Resource:
    group, _, version = api_version.rpartition("/")
    info = table().of_kind(group, version, kind)
    if info is None:
        raise LookupError(f"{api_version} {kind} is no built-in kind")
    return info


def _model_name(info: Resource) -> tuple[str, str]:
    """Return module and class of a definition: ``io.k8s.api.apps.v1.Deployment`` → ``apps_v1``, ``Deployment``."""
    group, version, name = info.definition.split(".")[-3:]
    return f"{group}_{version}", name


@cache
def _by_model() -> dict[tuple[str, str], Resource]:
    return {_model_name(info): info for info in table().resources if info.definition}
