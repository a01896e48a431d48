"""Request info: verb, resource and name of a request, from method, path and query. Upstream: ``RequestInfoFactory``.

Results are cached by path; only the effects of a query (``watch``, a field selector for one name) are computed per
request.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.errors import StatusError, path_not_found
from steersman.apimachinery.names import name_is_path_segment
from steersman.apimachinery.selectors import SelectorError, parse_field_selector, parse_label_selector
from steersman.apiserver.http import parse_query
from steersman.apiserver.request import RequestInfo
from steersman.apiserver.workers import in_worker, is_large

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from steersman.apimachinery.selectors import FieldSelector
    from steersman.apiserver.http import Filter, Handler, Request, Response

#: Maximum number of cached paths; clearing a full cache is cheaper than an LRU order.
_PATHS_MAX: Final = 8192
#: Longer paths are not cached.
_PATH_LENGTH_MAX: Final = 512

_VERBS: Final = {
    "POST": "create",
    "GET": "get",
    "HEAD": "get",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
#: Verbs of collections that depend on the query.
_REFINED: Final = frozenset({"get", "list", "deletecollection"})
#: Deprecated verbs in paths: ``/api/v1/watch/namespaces/…``.
_PATH_VERBS: Final = frozenset({"proxy", "watch"})
#: Subresources of namespaces: ``/namespaces/x/status`` is no resource in the namespace.
_NAMESPACE_SUBRESOURCES: Final = frozenset({"status", "finalize"})


class PathCache:
    """Cache of ``parse``. Requests for a cached path share one object."""

    def __init__(self) -> None:
        self._infos: dict[tuple[str, str], RequestInfo] = {}

    def parse(self, method: str, path: str) -> RequestInfo:
        """Parse method and path. Raises a StatusError for an incomplete path."""
        info = self._infos.get((method, path))
        if info is None:
            info = parse(method, path)
            if len(path) <= _PATH_LENGTH_MAX:
                if len(self._infos) >= _PATHS_MAX:
                    self._infos.clear()
                self._infos[method, path] = info
        return info


def request_info(*, with_labels: bool = False) -> Filter:
    """Set ``request.info``; ``with_labels``: including the label selectors of collections."""
    paths = PathCache()

    def wrap(handler: Handler) -> Handler:
        def filtered(request: Request) -> Awaitable[Response]:
            info = paths.parse(request.method, request.path)
            if request.raw_query and info.is_resource and not info.name and info.verb in _REFINED:
                if is_large(len(request.raw_query)):
                    return refined_in_worker(request, info)
                info = refine(info, request.raw_query)
                if with_labels:
                    info = add_labels(info, request.raw_query)
            request.info = info
            return handler(request)

        async def refined_in_worker(request: Request, info: RequestInfo) -> Response:
            request.info = await in_worker(_refine_long, info, request, with_labels=with_labels)
            return await handler(request)

        return filtered

    return wrap


def parse(method: str, path: str) -> RequestInfo:
    """Parse method and path; collections get the verb list. Raises a StatusError for an incomplete path."""
    parts = path.strip("/").split("/")
    other = RequestInfo(method.lower(), path)
    if len(parts) < 3 or parts[0] not in ("api", "apis"):
        return other
    group = ""
    rest = parts[1:]
    if parts[0] == "apis":
        if len(rest) < 3:
            return other
        group, *rest = rest
    version, *rest = rest
    verb = _VERBS.get(method, "")
    if rest[0] in _PATH_VERBS:
        if len(rest) < 2:
            raise path_not_found()  # upstream responds with 500, though the client is at fault
        verb, *rest = rest
    namespace, rest = _namespace(rest)
    resource, name = rest[0], "".join(rest[1:2])
    subresource = "".join(rest[2:3]) if verb != "proxy" else ""
    if not name:
        verb = {"get": "list", "delete": "deletecollection"}.get(verb, verb)
    return RequestInfo(
        verb,
        path,
        True,
        group,
        version,
        namespace,
        resource,
        name,
        subresource,
        tuple(rest[3:]),
    )


def _namespace(rest: list[str]) -> tuple[str, list[str]]:
    """Return the namespace and the rest of the path."""
    if rest[0] != "namespaces" or len(rest) < 2:
        return "", rest
    namespace = rest[1]
    if len(rest) > 2 and rest[2] not in _NAMESPACE_SUBRESOURCES:
        return namespace, rest[2:]
    return namespace, rest


def _refine_long(info: RequestInfo, request: Request, *, with_labels: bool) -> RequestInfo:
    """Return ``refine``; the request also parses its query here, as later it would do so on the event loop."""
    with suppress(StatusError):  # the handler that reads the query reports it
        request.query  # noqa: B018 — parsed on first access
    info = refine(info, request.raw_query)
    return add_labels(info, request.raw_query) if with_labels else info


def refine(info: RequestInfo, raw_query: bytes) -> RequestInfo:
    """Apply the query to a list: watch, or a single name by field selector."""
    if raw_query.find(b"watch") < 0 and raw_query.find(b"fieldSelector") < 0:
        return info
    try:
        query = parse_query(raw_query)
    except ValueError:
        return info  # the handler that reads the query reports the error
    is_read = info.verb != "deletecollection"
    if is_read and "watch" in query and _is_true(query["watch"][0]):
        info = info.changed(verb="watch")
    fields = _fields(query.get("fieldSelector", [""])[0])
    if fields is None:
        return info
    name = fields.exact_value("metadata.name")
    return info.changed(
        name=name if is_read and name and not name_is_path_segment(name) else None,
        fields=tuple((requirement.field, requirement.value, requirement.equal) for requirement in fields.requirements),
    )


def add_labels(info: RequestInfo, raw_query: bytes) -> RequestInfo:
    """Add the requirements of the label selector of a collection."""
    if raw_query.find(b"labelSelector") < 0:
        return info
    try:
        text = parse_query(raw_query).get("labelSelector", [""])[0]
        return info.changed(labels=tuple(parse_label_selector(text).requirements))
    except (SelectorError, ValueError):
        return info  # the handler that reads the query reports the error


def _is_true(text: str) -> bool:
    """Parse a boolean as upstream does: everything but ``false`` and ``0`` is true, an empty value too."""
    return text.lower() not in ("0", "false")


def _fields(selector: str) -> FieldSelector | None:
    """Parse the field selector; None if absent or invalid."""
    try:
        return parse_field_selector(selector) if selector else None
    except SelectorError:
        return None  # the list handler reports the error
