"""The client: every verb of the API, for typed objects and plain trees alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Self, TypeVar, overload

import msgspec

from steersman.asynckit.clock import RealClock
from steersman.client import requests
from steersman.client.decoding import ObjectList, decoding_of
from steersman.client.discovery import Discovery
from steersman.client.errors import Expired, UnreadableAnswer, from_answer
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

    from steersman.asynckit.clock import Clock
    from steersman.asynckit.ratelimit import TokenBucket
    from steersman.client.requests import ApplyOptions, DeleteOptions, ListOptions, WriteOptions
    from steersman.client.sending import ClientMetrics
    from steersman.client.transport import Answer, Request, Transport

T = TypeVar("T")
S = TypeVar("S")
Tree = dict[str, Any]
#: A class (of ``lightkube.models``, or one made known by ``custom``), or what ``tree``, ``custom``, ``discover`` return.
What = type[T] | ResourceType[T]

#: As client-go's pager: larger pages are hard on the server.
PAGE_SIZE: Final = 500
#: As long as the server itself works on a request that is no watch.
REQUEST_TIMEOUT_SECONDS: Final = 60.0


class Client:
    """Talks to one cluster as one user; safe to share between tasks. Close it, or use ``async with``.

    Where an object's namespace is not given it is the object's own, or else ``default_namespace``; ``list``, ``watch``
    and ``delete_collection`` without one are for all namespaces. All verbs raise ``ApiError`` when the server refuses,
    ``RequestFailed`` when it gives no answer, ``UnreadableAnswer`` when the answer is not what was asked for.
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
        """``limiter``: all requests wait for its tokens; none by default, as servers have their own flow control.

        ``on_warning`` hears the text of each warning the server sends. ``timeout_seconds`` bounds every request but
        the stream of a watch.
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

    @property
    def trusted_ca(self) -> bytes | None:
        """PEM that the server's certificate is checked with, where the client was given one of its own."""
        return getattr(self._transport, "ca", None)

    async def close(self) -> None:
        """Give up the connections. Idempotent."""
        await self._transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # What is there

    async def discover(self, api_version: str, kind: str) -> ResourceType[Tree]:
        """The resource that serves a kind, built-in or as the server tells; the answer is kept. Raises LookupError."""
        return await self._discovery.resource(api_version, kind)

    async def serves(self, what: What[Any], subresource: str) -> bool:
        """Whether a resource has a subresource; the server is asked each time."""
        return await self._discovery.serves(resource_type(what), subresource)

    # Reading

    async def get(self, what: What[T], name: str, *, namespace: str | None = None, resource_version: str = "") -> T:
        """One object. ``resource_version`` "0" allows any that the server has at hand."""
        resource = resource_type(what)
        query = (("resourceVersion", resource_version),) if resource_version else ()
        accept = requests.accept_header(resource.accept_as)
        request = requests.read(self._path(resource, name, namespace), query=query, accept=accept)
        return decoding_of(resource).decode_object(await self._body(request, resource, name))

    async def list(
        self,
        what: What[T],
        *,
        namespace: str | None = None,
        limit: int | None = None,
        continue_token: str = "",
        **options: Unpack[ListOptions],
    ) -> ObjectList[T]:
        """Objects in one answer: all, or at most ``limit`` with a token for the next page."""
        resource = resource_type(what)
        query = requests.list_query(options, limit=limit, continue_token=continue_token)
        path = requests.resource_path(resource.info, namespace=namespace or "")
        accept = requests.accept_header(resource.accept_as and f"{resource.accept_as}List")
        return decoding_of(resource).decode_list(
            await self._body(requests.read(path, query=query, accept=accept), resource)
        )

    async def pages(
        self, what: What[T], *, namespace: str | None = None, page_size: int = PAGE_SIZE, **options: Unpack[ListOptions]
    ) -> AsyncIterator[ObjectList[T]]:
        """All objects, page by page, as one consistent list.

        Raises ``Expired`` when the list is no longer kept before its end; begin anew.
        """
        token = ""
        while True:
            page = await self.list(what, namespace=namespace, limit=page_size, continue_token=token, **options)
            yield page
            token = page.continue_token
            if not token:
                return
            # The token stands for the version; both together are refused.
            options.pop("resource_version", None)
            options.pop("resource_version_match", None)

    async def list_all(
        self, what: What[T], *, namespace: str | None = None, page_size: int = PAGE_SIZE, **options: Unpack[ListOptions]
    ) -> ObjectList[T]:
        """All objects, fetched in pages; in one piece should the pages expire on the way, as client-go's pager does."""
        whole: ObjectList[T] | None = None
        try:
            async for page in self.pages(what, namespace=namespace, page_size=page_size, **options):
                if whole is None:
                    whole = page
                else:
                    whole.extend(page)
        except Expired:
            if whole is None:
                raise
            return await self.list(what, namespace=namespace, **options)
        assert whole is not None
        return whole

    def watch(
        self,
        what: What[T],
        *,
        namespace: str | None = None,
        bookmarks: bool = True,
        send_initial_events: bool | None = None,
        **options: Unpack[ListOptions],
    ) -> AbstractAsyncContextManager[Watch[T]]:
        """Changes after ``resource_version``: ``async with client.watch(Pod, …) as events: async for event in events``.

        ``send_initial_events`` begins with the present objects and a bookmark (KEP-3157). See ``Informer`` for a watch
        that goes on when this one ends.
        """
        resource = resource_type(what)
        query = requests.watch_query(options, bookmarks=bookmarks, send_initial_events=send_initial_events)
        path = requests.resource_path(resource.info, namespace=namespace or "")
        accept = requests.accept_header(resource.accept_as)
        return open_watch(self._sender, requests.read(path, query=query, accept=accept), resource)

    # Writing

    async def create(self, obj: T, *, namespace: str | None = None, **options: Unpack[WriteOptions]) -> T:
        """Create the object; as the server stored it."""
        resource = await self._type_of(obj)
        path = requests.resource_path(resource.info, namespace=self._namespace(resource, namespace, obj))
        request = requests.write("POST", path, obj, query=requests.write_query(options))
        return decoding_of(resource).decode_object(await self._body(request, resource, name_of(obj)))

    async def update(
        self, obj: T, *, namespace: str | None = None, subresource: str = "", **options: Unpack[WriteOptions]
    ) -> T:
        """Replace the object. Raises ``Conflict`` when it carries a version that is not the latest."""
        resource = await self._type_of(obj)
        path = self._path(resource, name_of(obj), self._namespace(resource, namespace, obj), subresource)
        request = requests.write("PUT", path, obj, query=requests.write_query(options))
        return decoding_of(resource).decode_object(await self._body(request, resource, name_of(obj)))

    async def update_status(self, obj: T, *, namespace: str | None = None, **options: Unpack[WriteOptions]) -> T:
        """Replace the object's status, and nothing else."""
        return await self.update(obj, namespace=namespace, subresource="status", **options)

    async def patch(
        self,
        what: What[T],
        name: str,
        patch: Any,
        *,
        patch_type: PatchType = PatchType.MERGE,
        namespace: str | None = None,
        subresource: str = "",
        **options: Unpack[WriteOptions],
    ) -> T:
        """Change parts of an object; ``patch`` is a tree, or bytes. Custom resources know no strategic patch."""
        resource = resource_type(what)
        path = self._path(resource, name, namespace, subresource)
        query = requests.write_query(options)
        accept = requests.accept_header(resource.accept_as)
        request = requests.write("PATCH", path, patch, content_type=patch_type.value, query=query, accept=accept)
        return decoding_of(resource).decode_object(await self._body(request, resource, name))

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
        """Server-side apply: the fields of ``obj`` are ``field_manager``'s from now on, others stay.

        Raises ``Conflict`` for fields of other managers unless ``force``.
        """
        resource = await self._type_of(obj)
        path = self._path(resource, name_of(obj), self._namespace(resource, namespace, obj), subresource)
        query = requests.write_query(options, field_manager=field_manager, force=force)
        body = self._with_kind(obj, resource)
        request = requests.write("PATCH", path, body, content_type=PatchType.APPLY.value, query=query)
        return decoding_of(resource).decode_object(await self._body(request, resource, name_of(obj)))

    async def delete(
        self, what: What[T], name: str, *, namespace: str | None = None, **options: Unpack[DeleteOptions]
    ) -> Tree:
        """Delete an object: a Status, or the object itself where something holds it back."""
        resource = resource_type(what)
        request = requests.delete(self._path(resource, name, namespace), options)
        return _tree(await self._body(request, resource, name))

    async def delete_object(self, obj: Any, **options: Unpack[DeleteOptions]) -> Tree:
        """Delete this object; give ``uid`` or ``resource_version`` to spare one that took its name."""
        resource = await self._type_of(obj)
        return await self.delete(resource, name_of(obj), namespace=namespace_of(obj) or None, **options)

    async def delete_collection(
        self,
        what: What[T],
        *,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
        **options: Unpack[DeleteOptions],
    ) -> Tree:
        """Delete all objects that the selectors choose; without selectors, all there are."""
        resource = resource_type(what)
        query = requests.list_query({"label_selector": label_selector, "field_selector": field_selector})
        path = requests.resource_path(resource.info, namespace=namespace or "")
        return _tree(await self._body(requests.delete(path, options, query=query), resource))

    # Subresources

    @overload
    async def get_subresource(
        self, what: What[T], name: str, subresource: str, *, namespace: str | None = None
    ) -> Tree: ...
    @overload
    async def get_subresource(
        self, what: What[T], name: str, subresource: str, *, namespace: str | None = None, model: type[S]
    ) -> S: ...
    async def get_subresource(
        self, what: What[T], name: str, subresource: str, *, namespace: str | None = None, model: type[Any] = dict
    ) -> Any:
        """``scale`` and the like; as ``model`` if given."""
        resource = resource_type(what)
        request = requests.read(self._path(resource, name, namespace, subresource))
        return _as(await self._body(request, resource, name), model)

    async def create_subresource(
        self,
        what: What[T],
        name: str,
        subresource: str,
        body: Any,
        *,
        namespace: str | None = None,
        **options: Unpack[WriteOptions],
    ) -> Tree:
        """``eviction``, ``binding``, ``token``: what the server answers."""
        resource = resource_type(what)
        path = self._path(resource, name, namespace, subresource)
        request = requests.write("POST", path, body, query=requests.write_query(options))
        return _tree(await self._body(request, resource, name))

    async def update_subresource(
        self,
        what: What[T],
        name: str,
        subresource: str,
        body: S,
        *,
        namespace: str | None = None,
        **options: Unpack[WriteOptions],
    ) -> S:
        """Replace a subresource whose kind is not the object's own (``scale``); decoded as ``body`` is."""
        resource = resource_type(what)
        path = self._path(resource, name, namespace, subresource)
        request = requests.write("PUT", path, body, query=requests.write_query(options))
        return _as(await self._body(request, resource, name), type(body))

    # Beneath the verbs

    async def raw(self, request: Request) -> Answer:
        """Send any request (``/version``, ``/healthz``, logs), with retries. Raises ``ApiError`` for codes from 400."""
        answer = await self._sender.request(request)
        if answer.status >= 400:
            raise from_answer(answer, method=request.method)
        return answer

    async def _body(self, request: Request, resource: ResourceType[Any], name: str = "") -> bytes:
        answer = await self._sender.request(request)
        if answer.status >= 400:
            group_resource = resource.info.group_resource
            raise from_answer(answer, method=request.method, group_resource=group_resource, name=name)
        return answer.body

    async def _type_of(self, obj: T) -> ResourceType[T]:
        if not isinstance(obj, dict):
            return typed(type(obj))
        api_version, kind = obj.get("apiVersion"), obj.get("kind")
        if not (isinstance(api_version, str) and isinstance(kind, str) and kind):
            raise ValueError("a plain object must say its apiVersion and kind")
        found: ResourceType[Any] = await self.discover(api_version, kind)
        return found

    def _namespace(self, resource: ResourceType[Any], namespace: str | None, obj: Any = None) -> str:
        """Where the object is; empty for cluster-scoped ones."""
        if not resource.info.namespaced:
            return ""
        return namespace or namespace_of(obj) or self.default_namespace

    def _path(self, resource: ResourceType[Any], name: str, namespace: str | None, subresource: str = "") -> str:
        where = self._namespace(resource, namespace)
        return requests.named_path(resource.info, namespace=where, name=name, subresource=subresource)

    def _with_kind(self, obj: Any, resource: ResourceType[Any]) -> Any:
        """An applied body must say its kind, which a caller's own struct may not."""
        body = msgspec.to_builtins(obj)
        return {"apiVersion": resource.info.api_version, "kind": resource.info.kind, **body}


def resource_type(what: What[T]) -> ResourceType[T]:
    """The resource that a class stands for. Raises LookupError."""
    return what if isinstance(what, ResourceType) else typed(what)


def _tree(body: bytes) -> Tree:
    return _as(body, dict)


def _as(body: bytes, model: type[S]) -> S:
    try:
        return msgspec.json.decode(body, type=model)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UnreadableAnswer(f"no {model.__name__}: {error}") from error
