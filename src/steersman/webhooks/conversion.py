"""Conversion webhooks of custom resources: functions between versions, and their ConversionReviews.

Versions are converted directly where there is a function, otherwise by way of the hub, the version that all others have
functions to and from.

Upstream: ``k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1`` (ConversionReview),
``pkg/apiserver/conversion/webhook_converter.go`` and controller-runtime's ``pkg/webhook/conversion``.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from steersman.apimachinery.trees import Tree, copy_tree
from steersman.asynckit.slices import next_turn
from steersman.client.client import resource_type
from steersman.client.decoding import decoding_of
from steersman.client.errors import UnexpectedResponse
from steersman.runtime.hooks import call_hook, check_hook
from steersman.webhooks.reviews import ReviewDecoder, encode_review

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from steersman.client.client import ResourceLike
    from steersman.client.resource_types import ResourceType

    Convert = Callable[[Any], Any | Awaitable[Any]]

_log = logging.getLogger(__name__)

F = TypeVar("F", bound="Convert")

GROUP: Final = "apiextensions.k8s.io"
#: Metadata that a conversion may change; the API server takes all other from the source.
_CONVERTIBLE_METADATA: Final = ("labels", "annotations")

#: Objects of a list that are converted before other work of the event loop runs.
_OBJECTS_PER_SLICE: Final = 50


class ConversionError(Exception):
    """Raised by a conversion function; the message is returned to the client of the API server."""


class Converter:
    """Conversion functions of one kind.

    A function receives an object of the source version, a struct or a tree that belongs to it, and returns one of the target
    version. Its ``apiVersion``, ``kind`` and metadata need not be set: only labels and annotations of the result count,
    everything else is taken from the source.
    """

    def __init__(self, hub: ResourceLike[Any]) -> None:
        """``hub``: the kind in the version that every other version is converted to and from."""
        self.hub: Final = resource_type(hub)
        self._versions: dict[str, ResourceType[Any]] = {self.hub.info.version: self.hub}
        self._functions: dict[tuple[str, str], Convert] = {}

    @property
    def group_kind(self) -> tuple[str, str]:
        """API group and kind."""
        return self.hub.info.group, self.hub.info.kind

    def add(self, source: ResourceLike[Any], target: ResourceLike[Any]) -> Callable[[F], F]:
        """Return a decorator for the function, or coroutine function, that converts ``source`` to ``target``.

        Raises ValueError for versions of another kind, and for a pair that has a function.
        """
        origin, destination = resource_type(source), resource_type(target)
        pair = (origin.info.version, destination.info.version)
        for resource in (origin, destination):
            info = resource.info
            if (info.group, info.kind) != self.group_kind:
                raise ValueError(f"{info.api_version} {info.kind} is no version of {self.hub.info.kind}")
            if self._versions.setdefault(info.version, resource) != resource:
                raise ValueError(f"{info.api_version} {info.kind} is registered with another class")
        if pair[0] == pair[1] or pair in self._functions:
            raise ValueError(f"{self.hub.info.kind}: a second conversion from {pair[0]} to {pair[1]}")

        def register(function: F) -> F:
            check_hook(f"the conversion from {pair[0]} to {pair[1]}", function, "object")
            self._functions[pair] = function
            return function

        return register

    def check(self) -> None:
        """Raise ValueError if a version cannot be converted to the hub or back."""
        hub = self.hub.info.version
        for version in self._versions:
            for pair in ((version, hub), (hub, version)):
                if version != hub and pair not in self._functions:
                    raise ValueError(f"{self.hub.info.kind}: no conversion from {pair[0]} to {pair[1]}")

    async def convert(self, obj: Tree, version: str) -> Tree:
        """Return an object in another version. Raises ``ConversionError``, and what a function raises."""
        source = str(obj.get("apiVersion", "")).rpartition("/")[2]
        if source == version:
            return obj
        for known_version in (source, version):
            if known_version not in self._versions:
                raise ConversionError(f"the webhook does not know version {known_version} of {self.hub.info.kind}")
        converted = obj
        for step in self._steps(source, version):
            converted = await self._call(converted, *step)
        return converted

    def _steps(self, source: str, target: str) -> list[tuple[str, str]]:
        if (source, target) in self._functions:
            return [(source, target)]
        hub = self.hub.info.version
        return [(source, hub), (hub, target)]

    async def _call(self, obj: Tree, source: str, target: str) -> Tree:
        function = self._functions[source, target]
        resource = self._versions[source]
        if resource.is_tree:
            argument = copy_tree(obj)
        else:
            try:
                argument = decoding_of(resource).decode_object(msgspec.json.encode(obj))
            except UnexpectedResponse as error:
                raise ConversionError(f"cannot decode the object: {error}") from error
        result = msgspec.to_builtins(await call_hook(function, argument))
        if not isinstance(result, dict):
            raise TypeError(f"the conversion from {source} to {target} returned no object")
        converted = {**result, "apiVersion": self._versions[target].info.api_version, "kind": self.hub.info.kind}
        converted["metadata"] = _protected_metadata(obj.get("metadata"), result.get("metadata"))
        return converted


class ConversionWebhook:
    """Converters of the ConversionReviews of one path."""

    group: Final = GROUP

    def __init__(self, converters: Iterable[Converter]) -> None:
        """Raises ValueError for a converter that lacks functions, and for two of one kind."""
        self._converters: dict[tuple[str, str], Converter] = {}
        for converter in converters:
            converter.check()
            if self._converters.setdefault(converter.group_kind, converter) is not converter:
                raise ValueError(f"two converters for {converter.hub.info.kind}")

    async def review(self, body: bytes) -> bytes:
        """Return the review with all objects in their order, or a failure. Raises ``ReviewError``."""
        version, request = _decoder.decode(body)
        response: Tree = {"uid": request.uid, "convertedObjects": [], "result": {"status": "Success"}}
        try:
            response["convertedObjects"] = await self._convert_all(request)
        except ConversionError as error:
            response["result"] = {"status": "Failure", "message": str(error)}
        except Exception:  # noqa: BLE001 — the client receives a failure, the log the reason
            _log.exception("the conversion to %s failed for request %s", request.desired_api_version, request.uid)
            response["result"] = {"status": "Failure", "message": "the conversion failed, see the log of the webhook"}
        return encode_review(GROUP, version, "ConversionReview", response=response)

    async def _convert_all(self, request: _WireRequest) -> list[Tree]:
        converted = []
        for position, obj in enumerate(request.objects, start=1):
            converted.append(await self._convert(obj, request.desired_api_version))
            if position % _OBJECTS_PER_SLICE == 0:
                await next_turn()
        return converted

    async def _convert(self, obj: Tree, desired_api_version: str) -> Tree:
        api_version, kind = str(obj.get("apiVersion", "")), str(obj.get("kind", ""))
        group, _, _ = api_version.rpartition("/")
        desired_group, _, version = desired_api_version.rpartition("/")
        converter = self._converters.get((group, kind))
        if converter is None:
            raise ConversionError(f"the webhook does not convert {api_version} {kind}")
        if desired_group != group:
            raise ConversionError(f"{api_version} {kind} cannot be converted to {desired_api_version}")
        return await converter.convert(obj, version)


class _WireRequest(msgspec.Struct, rename={"desired_api_version": "desiredAPIVersion"}):
    """Field ``request`` of a ConversionReview."""

    uid: str
    desired_api_version: str
    objects: list[Tree]


_decoder: Final = ReviewDecoder(GROUP, "ConversionReview", _WireRequest)


def _protected_metadata(source: Any, result: Any) -> Tree:
    """Return the metadata of the source with the labels and annotations of the result."""
    metadata = dict(source) if isinstance(source, dict) else {}
    changed = result if isinstance(result, dict) else {}
    for name in _CONVERTIBLE_METADATA:
        metadata.pop(name, None)
        if changed.get(name):
            metadata[name] = changed[name]
    return metadata
