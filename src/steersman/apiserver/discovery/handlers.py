"""Handlers of ``/api``, ``/apis`` and below: negotiation, and a cache of encoded documents by catalog generation."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import msgspec

from steersman.apimachinery.codec import prettify
from steersman.apimachinery.errors import method_not_allowed, not_acceptable, path_not_found
from steersman.apimachinery.yaml_codec import encode_yaml
from steersman.apiserver.discovery import documents
from steersman.apiserver.discovery.catalog import AGGREGATOR_GROUP
from steersman.apiserver.discovery.produces import require_accepted
from steersman.apiserver.http import Response, page_not_found
from steersman.schema.protobuf import MEDIA_TYPE as PROTOBUF
from steersman.schema.protobuf import encode_body

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from steersman.apiserver.discovery.catalog import Catalog
    from steersman.apiserver.http import Request

_AGGREGATED_VERSIONS = ("v2", "v2beta1")
_AGGREGATED_FORM = ("apidiscovery.k8s.io", "APIGroupDiscoveryList")

_JSON = "application/json"
_YAML = "application/yaml"
_CBOR = "application/cbor"
_OFFERED = (_JSON, _YAML, PROTOBUF)
_WILDCARDS = frozenset({"*/*", "application/*"})


class Form(msgspec.Struct, frozen=True):
    """Negotiated form of a discovery document."""

    media_type: str = _JSON
    #: Version of ``APIGroupDiscoveryList``; empty for the legacy documents.
    aggregated: str = ""
    #: JSON is indented.
    is_pretty: bool = False

    @property
    def content_type(self) -> bytes:
        base = self.media_type
        if self.aggregated:
            base += f";g=apidiscovery.k8s.io;v={self.aggregated};as=APIGroupDiscoveryList"
        return base.encode()


def negotiate(accept: str, *, aggregates: bool = False, offered: tuple[str, ...] = _OFFERED) -> Form:
    """Return the acceptable form of highest quality of an Accept header. Raises 406.

    ``aggregates``: the aggregated form is offered as well; it precedes plain forms of higher quality. Upstream:
    ``WrappedHandler.ServeHTTP`` of ``endpoints/discovery/aggregated``.
    """
    plain: Form | None = None
    for name, parameters in sorted(_alternatives(accept or "*/*"), key=_preference):
        if name not in offered and name not in _WILDCARDS:
            continue
        media_type = _JSON if name in _WILDCARDS else name
        is_pretty = media_type == _JSON and parameters.get("pretty") == "1"
        if not parameters.keys() & {"as", "g", "v"}:
            plain = plain or Form(media_type, is_pretty=is_pretty)
        elif aggregates and (parameters.get("g"), parameters.get("as")) == _AGGREGATED_FORM:
            version = parameters.get("v", "")
            if version in _AGGREGATED_VERSIONS:
                return Form(media_type, version, is_pretty)
    if plain is None:
        raise not_acceptable(offered)
    return plain


def _alternatives(accept: str) -> Iterator[tuple[str, dict[str, str]]]:
    for alternative in accept.split(","):
        name, *parameters = (part.strip() for part in alternative.split(";"))
        yield name, dict(parameter.split("=", 1) for parameter in parameters if "=" in parameter)


def _preference(alternative: tuple[str, dict[str, str]]) -> tuple[float, bool]:
    """Return the sorting key: the highest quality first, and a wildcard after media types of equal quality."""
    name, parameters = alternative
    try:
        quality = float(parameters.get("q") or 1)
    except ValueError:
        quality = 0.0
    return -quality, name in _WILDCARDS


class DiscoveryHandlers:
    """Discovery endpoints. The cache holds one body per path and form."""

    def __init__(
        self, catalog: Catalog, *, server_address: Callable[[], str], has_storage_version_hashes: bool = True
    ) -> None:
        """``has_storage_version_hashes``: the feature gate StorageVersionHash."""
        self._catalog = catalog
        self._has_hashes = has_storage_version_hashes
        self._server_address = server_address
        self._generation = -1
        self._bodies: dict[tuple[str, Form], tuple[bytes, bytes]] = {}

    async def core(self, request: Request) -> Response:
        """Serve ``/api``: versions of the core group, or all its resources in the aggregated form."""
        require_accepted(request, *_OFFERED)
        return self._serve(request, "/api", self._core, aggregates=True)

    async def groups(self, request: Request) -> Response:
        """Serve ``/apis``: all other groups, or all their resources in the aggregated form."""
        return self._serve(request, "/apis", self._groups, aggregates=True)

    async def below(self, request: Request) -> Response:
        """Serve ``/api/v1``, ``/apis/<group>`` and ``/apis/<group>/<version>``, with or without a trailing slash.

        As upstream's plain handlers, groups and versions of custom resources answer every method; the others are routes
        of go-restful, which refuses other methods and unknown media types.
        """
        match request.path.strip("/").split("/"):
            case ["api", version]:
                return self._group_version(request, "", version)
            case ["apis", name] if group := self._catalog.listed_group(name):
                if name == AGGREGATOR_GROUP:
                    self._require_route(request, _OFFERED)
                return self._serve(request, f"/apis/{name}", lambda _: documents.group_document(group))
            case ["apis", name, version] if name:
                return self._group_version(request, name, version)
        return page_not_found()

    def paths(self) -> Iterator[str]:
        """Yield the paths that ``below`` serves, for the list at ``/``."""
        core = self._catalog.group("")
        yield from (f"/api/{version.version}" for version in (core.versions if core else ()))
        for group in self._catalog.listed_groups():
            yield f"/apis/{group.name}"
            yield from (f"/apis/{version.api_version}" for version in group.versions)

    def _group_version(self, request: Request, group: str, name: str) -> Response:
        version = self._catalog.group_version(group, name)
        if version is None:
            if self._catalog.is_built_in(group):  # whose versions are served below one root
                raise path_not_found()
            return page_not_found()
        offered: tuple[str, ...] = _OFFERED
        if self._catalog.is_built_in(group):
            if request.offers_cbor:
                offered = (*_OFFERED, _CBOR)
            self._require_route(request, offered)
        return self._serve(
            request,
            f"/{version.api_version}",
            lambda _: documents.resource_list(version, with_hashes=self._has_hashes),
            offered=offered,
        )

    def _require_route(self, request: Request, offered: tuple[str, ...]) -> None:
        """Raise 405 or 406 as go-restful, before negotiation."""
        if request.method != "GET":
            raise method_not_allowed()
        require_accepted(request, *offered)

    def _core(self, form: Form) -> dict[str, Any]:
        core = self._catalog.group("")
        if core is None:
            return documents.aggregated([])
        if form.aggregated:
            return documents.aggregated([core])
        return documents.api_versions(core, server_address=self._server_address())

    def _groups(self, form: Form) -> dict[str, Any]:
        if form.aggregated:
            return documents.aggregated(self._catalog.groups())
        return documents.group_list(self._catalog.listed_groups())

    def _serve(
        self,
        request: Request,
        path: str,
        build: Callable[[Form], dict[str, Any]],
        *,
        aggregates: bool = False,
        offered: tuple[str, ...] = _OFFERED,
    ) -> Response:
        form = negotiate(request.header(b"accept"), aggregates=aggregates, offered=offered)
        if form.media_type == _JSON and not form.is_pretty and request.wants_indentation:
            form = msgspec.structs.replace(form, is_pretty=True)
        if self._generation != self._catalog.listing_generation:
            self._generation = self._catalog.listing_generation
            self._bodies.clear()
        cached = self._bodies.get((path, form))
        if cached is None:
            tree = build(form)
            if form.aggregated:
                tree["apiVersion"] = f"apidiscovery.k8s.io/{form.aggregated}"
            body = msgspec.json.encode(tree)
            # As upstream, whose ETag is one of the JSON in every form.
            tag = b'"' + hashlib.sha512(body).hexdigest().upper().encode() + b'"'
            if form.media_type == _YAML:
                body = encode_yaml(tree)
            elif form.media_type == PROTOBUF:
                body = encode_body(tree)
            elif form.media_type == _CBOR:
                from steersman.apimachinery.cbor import encode_object  # noqa: PLC0415 — behind a feature gate

                body = encode_object(tree)
            elif form.is_pretty:
                body = prettify(body)
            cached = self._bodies[path, form] = (body, tag)
        body, tag = cached
        if not aggregates:
            return Response(200, body, content_type=form.content_type)
        about = [(b"vary", b"Accept")]
        if form.aggregated:
            about.append((b"etag", tag))
            if tag.decode() in request.header(b"if-none-match"):
                return Response(304, content_type=b"", headers=about)
        return Response(200, body, content_type=form.content_type, headers=about)
