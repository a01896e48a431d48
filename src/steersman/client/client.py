"""API client: every verb of the API, for typed objects and plain trees.

Builds requests with ``requests``, sends them with ``sending.Sender`` and decodes with ``decoding``.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar, overload

import msgspec

from steersman.asynckit.clock import RealClock
from steersman.client import requests
from steersman.client.decoding import ObjectList, decoding_of
from steersman.client.discovery import Discovery
from steersman.client.errors import Expired, UnexpectedResponse, from_response
from steersman.client.objects import name_of, namespace_of
from steersman.client.requests import PatchType
from steersman.client.resource_types import ResourceType, typed
from steersman.client.sending import Sender
from steersman.client.watching import Watch, open_watch
from steersman.version import __version__

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from contextlib import AbstractAsyncContextManager
    from types import TracebackType
    from typing import Unpack

    from steersman.apimachinery.trees import Tree
    from steersman.asynckit.clock import Clock
    from steersman.asynckit.ratelimit import TokenBucket
    from steersman.client.requests import ApplyOptions, DeleteOptions, ListOptions, WriteOptions
    from steersman.client.sending import ClientMetrics, RetryPolicy
    from steersman.client.transport import Request, Response, Transport

T = TypeVar("T")
S = TypeVar("S")
#: A class (of ``lightkube.models``, or registered with ``custom``), or a result of ``tree``, ``custom`` or
#: ``discover``.
ResourceLike = type[T] | ResourceType[T]

#: Page size of client-go's pager.
PAGE_SIZE: Final = 500
#: kube-apiserver's ``--request-timeout`` for requests other than watches.
REQUEST_TIMEOUT_SECONDS: Final = 60.0


class Client:
    """Client of one cluster as one user; safe to share between tasks. Close it, or use ``async with``.

    The namespace defaults to the object's own, then to ``default_namespace``; ``list``, ``watch`` and
    ``delete_collection`` default to all namespaces. All verbs raise ``ApiError`` for an error status, ``RequestFailed``
    when no response arrives and ``UnexpectedResponse`` when the body cannot be decoded.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        clock: Clock | None = None,
        default_namespace: str = "default",
        user_agent: str = f"steersman/{__version__}",
        timeout_seconds: float | None = REQUEST_TIMEOUT_SECONDS,
        limiter: TokenBucket | None = None,
        metrics: ClientMetrics | None = None,
        on_warning: Callable[[str], None] | None = None,
    ) -> None:
        """Create a client.

        ``limiter`` delays every request until it has a token; none by default, as servers have API Priority and
        Fairness. ``on_warning`` receives the text of each ``Warning`` header. ``timeout_seconds`` bounds every attempt
        of a request except the stream of a watch; see ``with_options`` for a bound that includes retries.
        """
        self.clock: Final[Clock] = clock or RealClock()
        self.default_namespace: Final = default_namespace
        self._transport = transport
        self._sender = Sender(
            transport,
            clock=self.clock,
            timeout_seconds=timeout_seconds,
            user_agent=user_agent,
            limiter=limiter,
            metrics=metrics,
            on_warning=on_warning,
        )
        self._discovery = Discovery(self.raw)

    def with_options(self, *, deadline_seconds: float | None = None, retry: RetryPolicy | None = None) -> Self:
        """Return a client with other bounds for its calls.

        ``deadline_seconds`` bounds a call with its retries and waits; without it only each attempt is bounded.
        ``retry`` replaces the retry policy. None keeps the value of this client. Transport, credentials, limiter and
        discovery are shared: closing either client closes both. Example: ``await
        client.with_options(deadline_seconds=2).update(obj)``.
        """
        client = copy.copy(self)
        client._sender = self._sender.with_options(deadline_seconds=deadline_seconds, retry=retry)
        return client

    @property
    def trusted_ca(self) -> bytes | None:
        """CA bundle (PEM) that verifies the server's certificate; None: the system's trust store."""
        return getattr(self._transport, "ca", None)

    async def close(self) -> None:
        """Close the transport's connections. Idempotent."""
        await self._transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # Discovery

    async def discover(self, api_version: str, kind: str) -> ResourceType[Tree]:
        """Return the resource that serves a kind, built-in or discovered; results are cached. Raises LookupError."""
        return await self._discovery.resource(api_version, kind)

    async def serves(self, resource: ResourceLike[Any], subresource: str) -> bool:
        """Report whether a resource has a subresource. Queries the server on each call."""
        return await self._discovery.serves(resource_type(resource), subresource)

    # Reading

    async def get(
        self, resource: ResourceLike[T], name: str, *, namespace: str | None = None, resource_version: str = ""
    ) -> T:
        """Return one object. ``resource_version="0"`` allows any cached state of the server."""
        resolved = resource_type(resource)
        query = (("resourceVersion", resource_version),) if resource_version else ()
        accept = requests.accept_header(resolved.accept_as)
        request = requests.read(self._path(resolved, name, namespace), query=query, accept=accept)
        return decoding_of(resolved).decode_object(await self._body(request, resolved, name))

    async def list(
        self,
        resource: ResourceLike[T],
        *,
        namespace: str | None = None,
        limit: int | None = None,
        continue_token: str = "",
        **options: Unpack[ListOptions],
    ) -> ObjectList[T]:
        """Return objects of one response: all, or at most ``limit`` with a continue token for the next page."""
        resolved = resource_type(resource)
        query = requests.list_query(options, limit=limit, continue_token=continue_token)
        path = requests.resource_path(resolved.info, namespace=namespace or "")
        accept = requests.accept_header(resolved.accept_as and f"{resolved.accept_as}List")
        return decoding_of(resolved).decode_list(
            await self._body(requests.read(path, query=query, accept=accept), resolved)
        )

    async def pages(
        self,
        resource: ResourceLike[T],
        *,
        namespace: str | None = None,
        page_size: int = PAGE_SIZE,
        **options: Unpack[ListOptions],
    ) -> AsyncIterator[ObjectList[T]]:
        """Yield all objects page by page, as one consistent list.

        Raises ``Expired`` when the continue token expires before the last page; list again from the start.
        """
        token = ""
        while True:
            page = await self.list(resource, namespace=namespace, limit=page_size, continue_token=token, **options)
            yield page
            token = page.continue_token
            if not token:
                return
            # The server rejects a continue token together with a resource version.
            options.pop("resource_version", None)
            options.pop("resource_version_match", None)

    async def list_all(
        self,
        resource: ResourceLike[T],
        *,
        namespace: str | None = None,
        page_size: int = PAGE_SIZE,
        **options: Unpack[ListOptions],
    ) -> ObjectList[T]:
        """Return all objects, fetched in pages; falls back to one full list if a continue token expires.

        Upstream: ``k8s.io/client-go/tools/pager.ListPager``.
        """
        whole: ObjectList[T] | None = None
        try:
            async for page in self.pages(resource, namespace=namespace, page_size=page_size, **options):
                if whole is None:
                    whole = page
                else:
                    whole.extend(page)
        except Expired:
            if whole is None:
                raise
            return await self.list(resource, namespace=namespace, **options)
        assert whole is not None
        return whole

    def watch(
        self,
        resource: ResourceLike[T],
        *,
        namespace: str | None = None,
        bookmarks: bool = True,
        send_initial_events: bool | None = None,
        **options: Unpack[ListOptions],
    ) -> AbstractAsyncContextManager[Watch[T]]:
        """Watch changes after ``resource_version``.

        Use: ``async with client.watch(Pod, …) as events: async for event in events``. ``send_initial_events`` starts
        with the existing objects and a bookmark (KEP-3157). See ``Informer`` for a watch that resumes after its end.
        """
        resolved = resource_type(resource)
        query = requests.watch_query(options, bookmarks=bookmarks, send_initial_events=send_initial_events)
        path = requests.resource_path(resolved.info, namespace=namespace or "")
        accept = requests.accept_header(resolved.accept_as)
        return open_watch(self._sender, requests.read(path, query=query, accept=accept), resolved)

    # Writing

    async def create(self, obj: T, *, namespace: str | None = None, **options: Unpack[WriteOptions]) -> T:
        """Create the object; return it as stored."""
        resource = await self._type_of(obj)
        path = requests.resource_path(resource.info, namespace=self._namespace(resource, namespace, obj))
        request = requests.write("POST", path, obj, query=requests.write_query(options))
        return decoding_of(resource).decode_object(await self._body(request, resource, name_of(obj)))

    async def update(
        self, obj: T, *, namespace: str | None = None, subresource: str = "", **options: Unpack[WriteOptions]
    ) -> T:
        """Replace the object. Raises ``Conflict`` when its ``resourceVersion`` is not the latest."""
        resource = await self._type_of(obj)
        path = self._path(resource, name_of(obj), self._namespace(resource, namespace, obj), subresource)
        request = requests.write("PUT", path, obj, query=requests.write_query(options))
        return decoding_of(resource).decode_object(await self._body(request, resource, name_of(obj)))

    async def update_status(self, obj: T, *, namespace: str | None = None, **options: Unpack[WriteOptions]) -> T:
        """Replace the status of the object, and no other field."""
        return await self.update(obj, namespace=namespace, subresource="status", **options)

    async def patch(
        self,
        resource: ResourceLike[T],
        name: str,
        patch: Any,
        *,
        patch_type: PatchType = PatchType.MERGE,
        namespace: str | None = None,
        subresource: str = "",
        **options: Unpack[WriteOptions],
    ) -> T:
        """Patch an object; ``patch`` is a tree, or bytes. Custom resources have no strategic merge patch."""
        resolved = resource_type(resource)
        path = self._path(resolved, name, namespace, subresource)
        query = requests.write_query(options)
        accept = requests.accept_header(resolved.accept_as)
        request = requests.write("PATCH", path, patch, content_type=patch_type.value, query=query, accept=accept)
        return decoding_of(resolved).decode_object(await self._body(request, resolved, name))

    async def apply(
        self,
        obj: T,
        *,
        field_manager: str,
        force: bool = False,
        namespace: str | None = None,
        subresource: str = "",
        **options: Unpack[ApplyOptions],
    ) -> T:
        """Apply the object with server-side apply: ``field_manager`` owns the fields of ``obj``.

        Other fields are unchanged.

        Raises ``Conflict`` for fields of other managers unless ``force``.
        """
        resource = await self._type_of(obj)
        path = self._path(resource, name_of(obj), self._namespace(resource, namespace, obj), subresource)
        query = requests.write_query(options, field_manager=field_manager, force=force)
        body = self._with_kind(obj, resource)
        request = requests.write("PATCH", path, body, content_type=PatchType.APPLY.value, query=query)
        return decoding_of(resource).decode_object(await self._body(request, resource, name_of(obj)))

    async def delete(
        self, resource: ResourceLike[T], name: str, *, namespace: str | None = None, **options: Unpack[DeleteOptions]
    ) -> Tree:
        """Delete an object; return a Status, or the object while finalizers or a grace period delay its deletion."""
        resolved = resource_type(resource)
        request = requests.delete(self._path(resolved, name, namespace), options)
        return _tree(await self._body(request, resolved, name))

    async def delete_object(self, obj: Any, **options: Unpack[DeleteOptions]) -> Tree:
        """Delete this object.

        Set ``uid`` or ``resource_version`` as a precondition against a recreated object of the same name.
        """
        resource = await self._type_of(obj)
        return await self.delete(resource, name_of(obj), namespace=namespace_of(obj) or None, **options)

    async def delete_collection(
        self,
        resource: ResourceLike[T],
        *,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
        **options: Unpack[DeleteOptions],
    ) -> Tree:
        """Delete all objects that match the selectors; without selectors, all objects."""
        resolved = resource_type(resource)
        query = requests.list_query({"label_selector": label_selector, "field_selector": field_selector})
        path = requests.resource_path(resolved.info, namespace=namespace or "")
        return _tree(await self._body(requests.delete(path, options, query=query), resolved))

    # Subresources

    @overload
    async def get_subresource(
        self, resource: ResourceLike[T], name: str, subresource: str, *, namespace: str | None = None
    ) -> Tree: ...
    @overload
    async def get_subresource(
        self, resource: ResourceLike[T], name: str, subresource: str, *, namespace: str | None = None, model: type[S]
    ) -> S: ...
    async def get_subresource(
        self,
        resource: ResourceLike[T],
        name: str,
        subresource: str,
        *,
        namespace: str | None = None,
        model: type[Any] = dict,
    ) -> Any:
        """Return a subresource, e.g. ``scale``, decoded as ``model``."""
        resolved = resource_type(resource)
        request = requests.read(self._path(resolved, name, namespace, subresource))
        return _as(await self._body(request, resolved, name), model)

    async def create_subresource(
        self,
        resource: ResourceLike[T],
        name: str,
        subresource: str,
        body: Any,
        *,
        namespace: str | None = None,
        **options: Unpack[WriteOptions],
    ) -> Tree:
        """Post to a subresource, e.g. ``eviction``, ``binding``, ``token``; return the response body."""
        resolved = resource_type(resource)
        path = self._path(resolved, name, namespace, subresource)
        request = requests.write("POST", path, body, query=requests.write_query(options))
        return _tree(await self._body(request, resolved, name))

    async def update_subresource(
        self,
        resource: ResourceLike[T],
        name: str,
        subresource: str,
        body: S,
        *,
        namespace: str | None = None,
        **options: Unpack[WriteOptions],
    ) -> S:
        """Replace a subresource whose kind is not the object's own, e.g. ``scale``.

        The result has the class of ``body``.
        """
        resolved = resource_type(resource)
        path = self._path(resolved, name, namespace, subresource)
        request = requests.write("PUT", path, body, query=requests.write_query(options))
        return _as(await self._body(request, resolved, name), type(body))

    # Raw requests

    async def raw(self, request: Request) -> Response:
        """Send any request (``/version``, ``/healthz``, logs), with retries.

        Raises ``ApiError`` for status codes from 400.
        """
        response = await self._sender.request(request)
        if response.status >= 400:
            raise from_response(response, method=request.method)
        return response

    async def _body(self, request: Request, resource: ResourceType[Any], name: str = "") -> bytes:
        response = await self._sender.request(request)
        if response.status >= 400:
            group_resource = resource.info.group_resource
            raise from_response(response, method=request.method, group_resource=group_resource, name=name)
        return response.body

    async def _type_of(self, obj: T) -> ResourceType[T]:
        if not isinstance(obj, dict):
            return typed(type(obj))
        api_version, kind = obj.get("apiVersion"), obj.get("kind")
        if not (isinstance(api_version, str) and isinstance(kind, str) and kind):
            raise ValueError("a plain object must say its apiVersion and kind")
        resource: ResourceType[Any] = await self.discover(api_version, kind)
        return resource

    def _namespace(self, resource: ResourceType[Any], namespace: str | None, obj: Any = None) -> str:
        """Return the namespace of a request; empty for cluster-scoped resources."""
        if not resource.info.namespaced:
            return ""
        return namespace or namespace_of(obj) or self.default_namespace

    def _path(self, resource: ResourceType[Any], name: str, namespace: str | None, subresource: str = "") -> str:
        namespace = self._namespace(resource, namespace)
        return requests.named_path(resource.info, namespace=namespace, name=name, subresource=subresource)

    def _with_kind(self, obj: Any, resource: ResourceType[Any]) -> Any:
        """Return the object as a tree with ``apiVersion`` and ``kind``, which apply requires and a struct may lack."""
        body = msgspec.to_builtins(obj)
        return {"apiVersion": resource.info.api_version, "kind": resource.info.kind, **body}


def resource_type(resource: ResourceLike[T]) -> ResourceType[T]:
    """Return the resource of a class. Raises LookupError."""
    return resource if isinstance(resource, ResourceType) else typed(resource)


def _tree(body: bytes) -> Tree:
    return _as(body, dict)


def _as(body: bytes, model: type[S]) -> S:
    try:
        return msgspec.json.decode(body, type=model)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UnexpectedResponse(f"no {model.__name__}: {error}") from error
