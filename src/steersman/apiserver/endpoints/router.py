"""Router from URLs to endpoints, with upstream's 404 and 405 for URLs without one.

The endpoints of a resource are created by the first request for it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.errors import (
    bad_request,
    method_not_allowed,
    method_not_supported,
    not_found,
    path_not_found,
)
from steersman.apiserver.endpoints.create import create
from steersman.apiserver.endpoints.delete import delete
from steersman.apiserver.endpoints.deletecollection import delete_collection
from steersman.apiserver.endpoints.deprecations import deprecation_notes, deprecation_warning
from steersman.apiserver.endpoints.get import get
from steersman.apiserver.endpoints.list_ import list_
from steersman.apiserver.endpoints.patch import patch
from steersman.apiserver.endpoints.request_scope import RequestScope, ServedVersions
from steersman.apiserver.endpoints.scale import KIND as SCALE_KIND
from steersman.apiserver.endpoints.scale import ScaleScope, get_scale
from steersman.apiserver.endpoints.unsafe_delete import delete_even_corrupt, delete_readable_collection
from steersman.apiserver.endpoints.update import update
from steersman.apiserver.endpoints.watch import watch
from steersman.apiserver.http import page_not_found

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from steersman.apiserver.admission.chain import AdmissionChain
    from steersman.apiserver.authz.interface import Authorizer
    from steersman.apiserver.generic.registry import Registry
    from steersman.apiserver.generic.served import ServedResource
    from steersman.apiserver.http import Request, Response
    from steersman.apiserver.request import RequestInfo
    from steersman.schema.resources import Resource

    Endpoint = Callable[[Request], Awaitable[Response]]
    #: Returns the endpoints of a subresource, or of a resource without storage, by verb.
    Connect = Callable[[Resource, ServedResource | None], Mapping[str, Endpoint]]

_ON_COLLECTIONS: Final = frozenset({"create", "list", "watch", "deletecollection"})
_ON_ALL_NAMESPACES: Final = frozenset({"list", "watch"})
_ON_OBJECTS: Final = frozenset({"get", "update", "patch", "delete"})


class _Routes:
    """Endpoints of one resource or subresource."""

    __slots__ = (
        "endpoints",
        "group_resource",
        "is_custom",
        "is_subresource",
        "is_watchable",
        "namespaced",
        "notes",
        "takes_path",
        "warning",
        "watch_prefix",
    )

    def __init__(self, resource: Resource, subresource: str, endpoints: Mapping[str, Endpoint]) -> None:
        self.endpoints: Final = endpoints
        self.group_resource: Final = resource.group_resource
        self.is_custom: Final = not resource.definition
        self.namespaced: Final = resource.namespaced
        self.is_subresource: Final = bool(subresource)
        self.is_watchable: Final = "watch" in resource.verbs
        #: Deprecation warning of every response.
        self.warning: Final = deprecation_warning(resource)
        #: Audit annotations of every request.
        self.notes: Final = deprecation_notes(resource)
        #: Start of the deprecated paths that name the verb.
        self.watch_prefix: Final = f"{_root(resource)}/watch/"
        #: The path may continue after the subresource.
        self.takes_path: Final = subresource == "proxy"

    def is_in_scope(self, info: RequestInfo) -> bool:
        """Report whether the path names a namespace where the resource has one, or asks for all namespaces."""
        if info.namespace:
            return self.namespaced
        return not self.namespaced or info.verb in _ON_ALL_NAMESPACES

    def warn(self, request: Request) -> None:
        """Add the deprecation warning and its audit annotations to a request."""
        if self.warning:
            request.warnings.add(self.warning)
            if request.annotations is not None:
                for note, text in self.notes.items():
                    request.annotations.add(note, text)

    def endpoint(self, info: RequestInfo, method: str) -> Endpoint:
        """Return the endpoint of a request for built-in kinds. Raises 404, 405, 400."""
        if info.verb == "watch" and info.path.startswith(self.watch_prefix) and not self._has_watch_path(info):
            raise path_not_found()
        allowed = self._allowed(info)
        endpoint = self.endpoints.get(info.verb) if info.verb in allowed else None
        fits = method != "HEAD" or self.takes_path
        if endpoint is not None and fits and (info.verb != "watch" or method == "GET"):
            return endpoint
        if self.endpoints.keys().isdisjoint(allowed) or info.verb == "proxy":
            raise path_not_found()
        raise method_not_allowed()

    def custom_endpoint(self, info: RequestInfo) -> Endpoint:
        """Return the endpoint of a request for custom objects. Raises 405, 400.

        The verb alone decides: a HEAD is a read or a watch, a path that names the verb ``watch`` is one with every method,
        and a POST may name an object. Upstream: ``crdHandler``.
        """
        endpoint = self.endpoints.get(info.verb)
        if endpoint is None:
            raise method_not_supported(self.group_resource, info.verb)
        if not info.name and info.verb == "update":
            raise bad_request("name must be provided")
        return endpoint

    def _has_watch_path(self, info: RequestInfo) -> bool:
        """Report whether upstream has a route for a path that names the verb ``watch``: of resources that support it."""
        if self.is_subresource or not self.is_watchable:
            return False
        in_scope = bool(info.namespace) == self.namespaced or info.resource == "namespaces"
        return in_scope or (self.namespaced and not info.name)

    def _allowed(self, info: RequestInfo) -> AbstractSet[str]:
        """Return the verbs that a path of this form may have."""
        if info.parts and not self.takes_path:
            return frozenset()
        # only a namespace's own path names it, and so does one for a single object of a cluster-wide kind
        in_scope = bool(info.namespace) == self.namespaced or info.resource == "namespaces"
        if self.is_subresource:
            if not info.name:
                raise bad_request("name must be provided")
            return self.endpoints.keys() if in_scope else frozenset()
        if info.name and info.verb not in _ON_ALL_NAMESPACES:  # lists have a name when a field selector asks for one
            return _ON_OBJECTS if in_scope else frozenset()
        if in_scope:
            return _ON_COLLECTIONS
        return _ON_ALL_NAMESPACES if self.namespaced else frozenset()


class Router:
    """Router of requests for resources. A ``Handler``."""

    def __init__(
        self,
        registry: Registry,
        *,
        admission: AdmissionChain,
        authorizer: Authorizer,
        connect: Mapping[tuple[str, str], Connect] | None = None,
        deletes_corrupt: bool = False,
    ) -> None:
        """``deletes_corrupt``: the feature gate of ``unsafe_delete``. ``connect``: endpoints of connections and posted kinds, by group resource and subresource (``pods``, ``log``)."""
        self._registry: Final = registry
        self._admission: Final = admission
        self._authorizer: Final = authorizer
        self._connect: Final = dict(connect or {})
        self._delete: Final = delete_even_corrupt if deletes_corrupt else delete
        self._delete_collection: Final = delete_readable_collection if deletes_corrupt else delete_collection
        #: By group, version, resource and subresource.
        self._routes: Final[dict[tuple[str, str, str, str], _Routes]] = {}
        registry.listeners.append(self._forget)

    def __call__(self, request: Request) -> Awaitable[Response]:
        """Answer a request. Raises the errors of the endpoint, 404, 405, and 400 for a subresource without an object."""
        info = request.info
        key = (info.group, info.version, info.resource, info.subresource)
        routes = self._routes.get(key)
        if routes is None:
            resource = self._registry.resource(*key[:3])
            if resource is None:
                return self._unknown(info)
            endpoints = self._endpoints(resource, info.subresource)
            if not endpoints:  # a missing subresource of a custom object has the error of a missing object
                raise path_not_found() if resource.definition else not_found(resource.group_resource, info.name)
            routes = self._routes[key] = _Routes(resource, info.subresource, endpoints)
        if routes.is_custom:
            if not routes.is_in_scope(info):
                return _page_not_found()
            routes.warn(request)  # the errors of the route have the warning, too
            return routes.custom_endpoint(info)(request)
        endpoint = routes.endpoint(info, request.method)
        routes.warn(request)
        return endpoint(request)

    def _forget(self, group: str, version: str, resource: str) -> None:
        """Drop the endpoints of a changed or removed resource; they are created again by the next request."""
        for key in [key for key in self._routes if key[:3] == (group, version, resource)]:
            del self._routes[key]

    async def _unknown(self, info: RequestInfo) -> Response:
        if info.group in self._registry.groups:
            raise path_not_found()
        return page_not_found()

    def _endpoints(self, resource: Resource, subresource: str) -> Mapping[str, Endpoint]:
        served = self._registry.get(resource.group, resource.version, resource.name)
        connect = self._connect.get((resource.group_resource, subresource))
        if connect is not None:
            return connect(resource, served)
        if not subresource:
            return self._of_objects(resource, served)
        declared = next((candidate for candidate in resource.subresources if candidate.name == subresource), None)
        if declared is None or served is None:
            return {}
        if declared.kind == SCALE_KIND and declared.group == "autoscaling":
            return self._of_scales(served)
        if (
            declared.kind == resource.kind
            and "update" in declared.verbs
            and subresource in served.strategy.update_hooks()
        ):
            return self._of_whole_objects(served, subresource, declared.verbs)
        return dict.fromkeys(declared.verbs, _not_served)

    def _of_objects(self, resource: Resource, served: ServedResource | None) -> Mapping[str, Endpoint]:
        if served is None:
            return dict.fromkeys(resource.verbs, _not_served)
        scope = self._scope(served)
        endpoints: dict[str, Endpoint] = {
            "get": partial(get, served),
            "list": partial(list_, served),
            "watch": partial(watch, served),
            "create": partial(create, scope),
            "update": partial(update, scope),
            "patch": partial(patch, scope),
            "delete": partial(self._delete, scope),
            "deletecollection": partial(self._delete_collection, scope),
        }
        return {verb: endpoint for verb, endpoint in endpoints.items() if verb in resource.verbs}

    def _of_whole_objects(
        self, served: ServedResource, subresource: str, verbs: Sequence[str]
    ) -> Mapping[str, Endpoint]:
        """Return the endpoints of subresources that show the whole object and write a part of it (``/status``)."""
        scope = self._scope(served, subresource)
        endpoints: dict[str, Endpoint] = {
            "get": partial(get, served),
            "update": partial(update, scope),
            "patch": partial(patch, scope),
        }
        return {verb: endpoint for verb, endpoint in endpoints.items() if verb in verbs}

    def _of_scales(self, served: ServedResource) -> Mapping[str, Endpoint]:
        scope = ScaleScope(served, admission=self._admission, authorizer=self._authorizer)
        return {"get": partial(get_scale, scope), "update": partial(update, scope), "patch": partial(patch, scope)}

    def _scope(self, served: ServedResource, subresource: str = "") -> RequestScope:
        # managers that wrote another group's kind (Events) own nothing after a write as this one
        group = served.resource.group
        siblings = {v: s for v, s in self._registry.siblings(served).items() if s.resource.group == group}
        return RequestScope(
            served,
            admission=self._admission,
            authorizer=self._authorizer,
            subresource=subresource,
            versions=ServedVersions(served, siblings) if len(siblings) > 1 else None,
        )


def _root(resource: Resource) -> str:
    """Return the path of the resource's group version."""
    return f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"


async def _not_served(_: Request) -> Response:
    """Answer 404 for a path that discovery lists and that has no endpoint here."""
    raise path_not_found()


async def _page_not_found() -> Response:
    """Return the 404 for custom objects outside their scope, which the delegate of upstream's handler answers."""
    return page_not_found()
