"""Table of non-resource paths (``/version``, ``/healthz``, ``/apis``, …). Upstream: ``mux.PathRecorderMux``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from steersman.apimachinery.errors import method_not_allowed
from steersman.apiserver.http import Response, page_not_found

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from steersman.apiserver.http import Handler, Request

#: Handlers that serve every method, as upstream's plain handlers do.
ANY_METHOD: frozenset[str] = frozenset()
READ = frozenset({"GET"})


class Route:
    """Entry of the table."""

    __slots__ = ("handler", "methods", "path")

    def __init__(self, path: str, handler: Handler, methods: frozenset[str]) -> None:
        self.path: Final = path
        self.handler: Final = handler
        #: Allowed methods; others get a 405. ``ANY_METHOD`` allows all.
        self.methods: Final = methods


class Routes:
    """Table of routes. Exact paths precede prefixes, longer prefixes precede shorter ones."""

    def __init__(self) -> None:
        self._exact: dict[str, Route] = {}
        self._listed: list[str] = []
        self._prefixes: list[Route] = []
        #: Suppliers of paths below prefixes, for the index at ``/``.
        self._more_paths: list[Callable[[], Iterable[str]]] = []
        self.add("/", self.index, methods=ANY_METHOD, listed=False)
        self.add("/index.html", self.index, methods=ANY_METHOD, listed=False)

    def add(self, path: str, handler: Handler, *, methods: frozenset[str] = READ, listed: bool = True) -> None:
        """Serve exactly ``path``; list it at ``/`` if ``listed``. Raises ValueError if it exists."""
        if path in self._exact:
            raise ValueError(f"two handlers for {path}")
        self._exact[path] = Route(path, handler, methods)
        if listed:
            self._listed.append(path)

    def add_prefix(self, prefix: str, handler: Handler, *, methods: frozenset[str] = READ) -> None:
        """Serve everything below ``prefix`` (which ends in ``/``) without an exact route.

        The handler responds to unknown paths with ``page_not_found()`` or raises ``path_not_found()``.
        """
        if not prefix.endswith("/") or any(route.path == prefix for route in self._prefixes):
            raise ValueError(f"not a prefix, or taken: {prefix}")
        self._prefixes.append(Route(prefix, handler, methods))
        self._prefixes.sort(key=lambda route: -len(route.path))

    def add_paths(self, paths: Callable[[], Iterable[str]]) -> None:
        """Add a supplier of paths that are served below a prefix, for ``/``."""
        self._more_paths.append(paths)

    async def dispatch(self, request: Request) -> Response:
        """Return the response of the route; 404 in plain text without one. Raises a 405 StatusError."""
        route = self._find(request.path)
        if route is None:
            return page_not_found()
        if route.methods and request.method not in route.methods:
            raise method_not_allowed()
        return await route.handler(request)

    def _find(self, path: str) -> Route | None:
        route = self._exact.get(path)
        if route is None:
            route = next((prefix for prefix in self._prefixes if path.startswith(prefix.path)), None)
        return route

    def paths(self) -> list[str]:
        """Return all listed paths, sorted."""
        paths = set(self._listed)
        for more in self._more_paths:
            paths.update(more())
        return sorted(paths)

    async def index(self, request: Request) -> Response:
        """Serve ``/``: all listed paths, sorted."""
        body = msgspec.json.encode({"paths": self.paths()})
        return Response(200, msgspec.json.format(body, indent=2))
