"""Check of stored values: everything that kube-apiserver 1.36 would not read, or would read from another key.

Upstream has no such command; the layout is that of test/integration/etcd/data.go.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.apimachinery.codec import DecodeError
from steersman.apiserver.generic.storage_codec import (
    JSON,
    UnreadableValueError,
    decode_custom_value,
    decode_json_value,
)
from steersman.apiserver.kinds.shared.allocation import PortBitmap, PortRange
from steersman.apiserver.kinds.stored_versions import stored_layout
from steersman.schema.decoding import decode
from steersman.schema.loader import struct_for
from steersman.schema.protobuf import MAGIC, decode_body
from steersman.schema.resources import table
from steersman.storage.encryption.resources import KeyResources

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.generic.entry import Layout
    from steersman.schema.resources import Resource

_ROOT: Final = "/registry/"
_RANGES: Final = "/registry/ranges/"
_NODE_PORTS: Final = "/registry/ranges/servicenodeports"
#: Allocations of cluster IPs of servers before 1.33, which 1.36 does not read.
_SERVICE_IPS: Final = ("/registry/ranges/serviceips", "/registry/ranges/secondaryserviceips")
#: Values are Endpoints: addresses of API servers, and of their peers.
_LEASES: Final = ("/registry/masterleases/", "/registry/peerserverleases/")
#: Values that no provider decrypted, or that were read without the configuration.
_ENCRYPTED: Final = b"k8s:enc:"
_ANY_PORTS: Final = PortRange(1, 65535)


class _CustomResource(msgspec.Struct):
    """Objects of one custom resource that were seen."""

    #: Their apiVersions and kinds, each with the first key that has it.
    types: dict[tuple[str, str], str]


class StorageChecker:
    """Checks values one by one, and at the end what takes all of them."""

    def __init__(self) -> None:
        #: Values that were not checked because they are encrypted.
        self.encrypted = 0
        self._custom: dict[tuple[str, str], _CustomResource] = {}
        #: Resource and group → apiVersions and kind of its definition.
        self._defined: dict[tuple[str, str], tuple[frozenset[str], str]] = {}

    def problem(self, key: str, value: bytes) -> str:
        """Return why kube-apiserver would not read a value as the object of its key; "" when it would."""
        if not key.startswith(_ROOT):
            return ""
        if value.startswith(_ENCRYPTED):
            self.encrypted += 1
            return ""
        try:
            return self._problem(key, value)
        except UnreadableValueError as error:
            return str(error).removeprefix(f"{key}: ")
        except (DecodeError, ValueError) as error:
            return f"does not decode: {error}"

    def _problem(self, key: str, value: bytes) -> str:
        if key.startswith(_RANGES):
            if key not in (_NODE_PORTS, *_SERVICE_IPS):
                return "no resource has this key"
            PortBitmap.decode(_ANY_PORTS, value)
            return ""
        if key.startswith(_LEASES):
            _decode_endpoints(value)
            return ""
        pair = _key_resources()(key)
        if pair is None:
            return "no resource has this key"
        resource = _built_in().get(pair)
        if resource is None:
            return self._custom_problem(key, value, pair)
        layout = _layout_of(resource.group_resource)
        tree = layout.entry(key, value, 1).tree()
        if resource.kind == "CustomResourceDefinition":
            self._define(tree)
        return _place_problem(key[len(resource.key_prefix) + 1 :], tree, namespaced=resource.namespaced)

    # -- custom resources ----------------------------------------------------------------------------------------------

    def _custom_problem(self, key: str, value: bytes, pair: tuple[str, str]) -> str:
        tree: Tree = decode_custom_value(key, value)
        kind, api_version = tree.get("kind"), tree.get("apiVersion")
        if not isinstance(kind, str) or not isinstance(api_version, str) or not kind:
            return "kind or apiVersion is missing"
        if api_version.rpartition("/")[0] != pair[1]:
            return f"holds a {kind} ({api_version}), expected an object of the group {pair[1]}"
        seen = self._custom.setdefault(pair, _CustomResource({}))
        seen.types.setdefault((api_version, kind), key)
        path = key[len(f"{_ROOT}{pair[1]}/{pair[0]}/") :]
        return _place_problem(path, tree, namespaced="/" in path)

    def _define(self, definition: Tree) -> None:
        spec = definition.get("spec") or {}
        group, names = spec.get("group") or "", spec.get("names") or {}
        versions = frozenset(f"{group}/{version.get('name')}" for version in spec.get("versions") or ())
        self._defined[names.get("plural") or "", group] = (versions, names.get("kind") or "")

    def remaining_problems(self) -> Iterator[tuple[str, str]]:
        """Yield keys and problems of custom objects that no definition fits; call it after the last ``problem``."""
        for (plural, group), seen in self._custom.items():
            defined = self._defined.get((plural, group))
            for (api_version, kind), key in seen.types.items():
                if defined is None:
                    yield key, f"no CustomResourceDefinition defines {plural}.{group}"
                elif api_version not in defined[0]:
                    yield key, f"holds a {kind} ({api_version}), a version that {plural}.{group} does not have"
                elif kind != defined[1]:
                    yield key, f"holds a {kind} ({api_version}), expected a {defined[1]}"


def reencode(media_type: str) -> Callable[[str, bytes], bytes]:
    """Return a function from key and value to the value in ``media_type``, for objects of built-in kinds.

    Custom objects, allocations and encrypted values are left as they are. It raises ``UnreadableValueError``.
    """

    def encoded(key: str, value: bytes) -> bytes:
        resource = _built_in().get(_key_resources()(key) or ("", ""))
        if resource is None or value.startswith(_ENCRYPTED):
            return value
        layout = _layout_of(resource.group_resource, media_type)
        return layout.stored(layout.entry(key, value, 1).tree())

    return encoded


def _place_problem(path: str, tree: Tree, *, namespaced: bool) -> str:
    """Return the problem of an object that belongs under another key; ``path``: namespace and name of the key."""
    namespace, slash, name = path.rpartition("/")
    metadata = tree["metadata"]
    if bool(slash) != namespaced or "/" in namespace or not name:
        return "the key has not the form of its resource"
    if metadata.get("name") != name:
        return f"holds an object named {metadata.get('name')!r}"
    if (metadata.get("namespace") or "") != namespace:
        return f"holds an object of the namespace {metadata.get('namespace')!r}"
    return ""


def _decode_endpoints(value: bytes) -> None:
    """Raise ``DecodeError`` or ``UnreadableValueError`` for a value that is no Endpoints."""
    tree: Any = decode_body(value) if value.startswith(MAGIC) else decode_json_value("", value)
    if (tree.get("apiVersion"), tree.get("kind")) != ("v1", "Endpoints"):
        raise DecodeError(f"holds a {tree.get('kind')} ({tree.get('apiVersion')}), expected an Endpoints")
    decode(struct_for("", "v1", "Endpoints"), tree)


@cache
def _built_in() -> dict[tuple[str, str], Resource]:
    """Return the built-in resources in their storage versions."""
    return {
        (resource.name, resource.group): resource
        for resource in table().resources
        if resource.key_prefix and resource.api_version == resource.storage_api_version
    }


@cache
def _key_resources() -> KeyResources:
    return KeyResources({resource.key_prefix: pair for pair, resource in _built_in().items()})


@cache
def _layout_of(group_resource: str, media_type: str = JSON) -> Layout:
    return stored_layout(group_resource, media_type)
