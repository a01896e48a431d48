"""What a URL and a method ask for (``RequestInfoFactory`` upstream).

Paths with a name and paths of collections are read once each and kept; only what a query changes (``watch``, a field
selector for one name) is worked out every time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs

from steersman.apimachinery.errors import path_not_found
from steersman.apimachinery.names import name_is_path_segment
from steersman.apimachinery.selectors import SelectorError, parse_field_selector
from steersman.apiserver.request import RequestInfo

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from steersman.apimachinery.selectors import FieldSelector
    from steersman.apiserver.http import Filter, Handler, Request, Response

#: Bound of the table; it is emptied when full, which costs less than keeping an order of use.
_KEPT_MAX: Final = 8192
#: Longer paths are read anew each time, so that the table stays small.
_KEPT_PATH_MAX: Final = 512

_VERBS: Final = {
    "POST": "create",
    "GET": "get",
    "HEAD": "get",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
#: Verbs of collections that a query says more about.
_REFINED: Final = frozenset({"get", "list", "deletecollection"})
#: Verbs that stood in the path in olden times: ``/api/v1/watch/namespaces/…``.
_PATH_VERBS: Final = frozenset({"proxy", "watch"})
#: ``/namespaces/x/status`` is about the namespace, ``/namespaces/x/pods`` about what lies in it.
_NAMESPACE_SUBRESOURCES: Final = frozenset({"status", "finalize"})


def request_info() -> Filter:
    """Sets ``request.info``. Its answers to one path are the same object as long as it is kept."""
    kept: dict[tuple[str, str], RequestInfo] = {}

    def wrap(handler: Handler) -> Handler:
        def filtered(request: Request) -> Awaitable[Response]:
            key = (request.method, request.path)
            info = kept.get(key)
            if info is None:
                info = parse(request.method, request.path)
                if len(request.path) <= _KEPT_PATH_MAX:
                    if len(kept) >= _KEPT_MAX:
                        kept.clear()
                    kept[key] = info
            if request.raw_query and info.is_resource and not info.name and info.verb in _REFINED:
                info = refine(info, request.raw_query)
            request.info = info
            return handler(request)

        return filtered

    return wrap


def parse(method: str, path: str) -> RequestInfo:
    """What method and path say; of a collection that it is listed. Raises a StatusError for half a path."""
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
            raise path_not_found()  # upstream's 500 is no fault of the server
        verb, *rest = rest
    namespace, rest = _namespace(rest)
    resource, name = rest[0], "".join(rest[1:2])
    subresource = "".join(rest[2:3]) if verb not in _PATH_VERBS else ""
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
    """The namespace, and what is left of the path."""
    if rest[0] != "namespaces" or len(rest) < 2:
        return "", rest
    namespace = rest[1]
    if len(rest) > 2 and rest[2] not in _NAMESPACE_SUBRESOURCES:
        return namespace, rest[2:]
    return namespace, rest


def refine(info: RequestInfo, raw_query: bytes) -> RequestInfo:
    """A listed collection as its query changes it: watched, or for one name only."""
    if b"watch" not in raw_query and b"fieldSelector" not in raw_query:
        return info
    try:
        query = parse_qs(raw_query.decode("ascii"), keep_blank_values=True, max_num_fields=1000)
    except ValueError:
        return info  # whoever reads the query will say what is wrong with it
    is_read = info.verb != "deletecollection"
    if is_read and "watch" in query and _is_true(query["watch"][0]):
        info = info.changed(verb="watch")
    fields = _fields(query.get("fieldSelector", [""])[0])
    if fields is None:
        return info
    name = fields.exact_value("metadata.name")
    return info.changed(
        name=name if is_read and name and not name_is_path_segment(name) else None,
        fields=tuple((each.field, each.value, each.equal) for each in fields.requirements),
    )


def _is_true(text: str) -> bool:
    """As upstream reads booleans in a query: anything but these is true, also nothing."""
    return text.lower() not in ("0", "false")


def _fields(selector: str) -> FieldSelector | None:
    """The field selector; None when there is none that can be read."""
    try:
        return parse_field_selector(selector) if selector else None
    except SelectorError:
        return None  # whoever lists will say what is wrong with it
