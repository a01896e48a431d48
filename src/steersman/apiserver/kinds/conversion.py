"""Conversion of built-in kinds that are served in several versions.

A conversion takes a tree, which it may change, and returns it in the other version, with the zero values that Go
encodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apiserver.kinds.autoscaling.horizontalpodautoscaler import conversion as autoscaler_conversion
from steersman.schema.decoding import decode
from steersman.schema.loader import struct_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from steersman.apimachinery.trees import Tree
    from steersman.schema.resources import Resource

    Conversion = Callable[[Tree], Tree]

#: core/v1 Event → events.k8s.io/v1 Event; all other fields have the same name in both.
_EVENT_FIELDS: Final = {
    "involvedObject": "regarding",
    "message": "note",
    "reportingComponent": "reportingController",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
}
_EVENT_FIELDS_BACK: Final = {new: old for old, new in _EVENT_FIELDS.items()}


def conversions_for(resource: Resource) -> tuple[Conversion | None, Conversion | None]:
    """Return the conversions to the storage version and back; None twice if the resource is served in its storage
    version.
    """
    if resource.api_version == resource.storage_api_version or not resource.storage_api_version:
        return None, None
    change = _CHANGES.get((resource.kind, resource.api_version, resource.storage_api_version))
    if change is None:
        raise KeyError(
            f"no conversion of {resource.kind} from {resource.api_version} to {resource.storage_api_version}"
        )
    to_storage, from_storage = change
    return (
        _conversion(to_storage, resource.kind, resource.storage_api_version),
        _conversion(from_storage, resource.kind, resource.api_version),
    )


def decoders_for(resource: Resource) -> dict[str, Callable[[Tree], tuple[Tree, list[str]]]]:
    """Return by API version a decoder of the kind's other versions: it returns the object in the version of the resource,
    and the paths of its unknown fields.

    Upstream: ``UniversalDecoder``, which decodes any version and converts it.
    """
    decoders: dict[str, Callable[[Tree], tuple[Tree, list[str]]]] = {}
    for (kind, served, storage), (to_storage, from_storage) in _CHANGES.items():
        if (kind, storage) == (resource.kind, resource.api_version):
            decoders[served] = _decoder(to_storage, kind, served, storage)
        elif (kind, served) == (resource.kind, resource.api_version):
            decoders[storage] = _decoder(from_storage, kind, storage, served)
    return decoders


def _decoder(change: Conversion, kind: str, source: str, target: str) -> Callable[[Tree], tuple[Tree, list[str]]]:
    group, _, version = source.rpartition("/")
    convert = _conversion(change, kind, target)

    def decode_and_convert(tree: Tree) -> tuple[Tree, list[str]]:
        decoded, unknown = decode(struct_for(group, version, kind), tree)
        decoded.setdefault("metadata", {})
        return convert(decoded), unknown

    return decode_and_convert


def _conversion(change: Conversion, kind: str, api_version: str) -> Conversion:
    group, _, version = api_version.rpartition("/")

    def convert(tree: Tree) -> Tree:
        metadata = tree["metadata"]
        decoded = decode(struct_for(group, version, kind), change(tree)).tree
        return {"kind": kind, "apiVersion": api_version, "metadata": metadata, **_without_metadata(decoded)}

    return convert


def _without_metadata(tree: Tree) -> Tree:
    return {name: value for name, value in tree.items() if name not in ("kind", "apiVersion", "metadata")}


def _event_from_core(tree: Tree) -> Tree:
    return {_EVENT_FIELDS.get(name, name): value for name, value in tree.items()}


def _event_to_core(tree: Tree) -> Tree:
    return {_EVENT_FIELDS_BACK.get(name, name): value for name, value in tree.items()}


def _same(tree: Tree) -> Tree:
    return tree


#: Kind, served version, storage version → conversions to the storage version and back.
_CHANGES: Final[dict[tuple[str, str, str], tuple[Conversion, Conversion]]] = {
    ("Event", "events.k8s.io/v1", "v1"): (_event_to_core, _event_from_core),
    ("HorizontalPodAutoscaler", "autoscaling/v1", "autoscaling/v2"): (
        autoscaler_conversion.v1_to_v2,
        autoscaler_conversion.v2_to_v1,
    ),
    ("LeaseCandidate", "coordination.k8s.io/v1alpha2", "coordination.k8s.io/v1beta1"): (_same, _same),
}
