"""Paths that name no resource (``/version``, ``/healthz``, ``/apis``, …): a table that the parts of the server add to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from steersman.apimachinery.errors import method_not_allowed
from steersman.apiserver.http import Response, page_not_found

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from steersman.apiserver.http import Handler, Request

#: Any method is served, as upstream's plain handlers do.
ANY_METHOD: frozenset[str] = frozenset()
READ = frozenset({"GET"})


class Route:
    """One entry of the table."""

    __slots__ = ("handler", "methods", "path")

    def __init__(self, path: str, handler: Handler, methods: frozenset[str]) -> None:
        self.path: Final = path
        self.handler: Final = handler
        #: Others are answered with 405; ``ANY_METHOD`` takes all.
        self.methods: Final = methods


class Routes:
    """The table. An exact path goes before prefixes, a longer prefix before a shorter one."""

    def __init__(self) -> None:
        self._exact: dict[str, Route] = {}
        self._listed: list[str] = []
        self._prefixes: list[Route] = []
        #: Called for ``/``: paths that have no route of their own (those below a prefix).
        self._more_paths: list[Callable[[], Iterable[str]]] = []
        self.add("/", self.index, methods=ANY_METHOD, listed=False)
        self.add("/index.html", self.index, methods=ANY_METHOD, listed=False)

    def add(self, path: str, handler: Handler, *, methods: frozenset[str] = READ, listed: bool = True) -> None:
        """Serve exactly ``path``, and name it at ``/`` unless not ``listed``. Raises ValueError when it is taken."""
        if path in self._exact:
            raise ValueError(f"two handlers for {path}")
        self._exact[path] = Route(path, handler, methods)
        if listed:
            self._listed.append(path)

    def add_prefix(self, prefix: str, handler: Handler, *, methods: frozenset[str] = READ) -> None:
        """Serve everything that starts with ``prefix`` (which ends in ``/``) and has no exact route.

        A handler that knows nothing at the path answers with ``page_not_found()`` or raises ``path_not_found()``.
        """
        if not prefix.endswith("/") or any(route.path == prefix for route in self._prefixes):
            raise ValueError(f"not a prefix, or taken: {prefix}")
        self._prefixes.append(Route(prefix, handler, methods))
        self._prefixes.sort(key=lambda route: -len(route.path))

    def add_paths(self, paths: Callable[[], Iterable[str]]) -> None:
        """Name paths for ``/`` that are served below a prefix."""
        self._more_paths.append(paths)

    async def dispatch(self, request: Request) -> Response:
        """The answer of whoever serves the path; 404 in plain text when nobody does. Raises a 405 StatusError."""
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

    async def index(self, request: Request) -> Response:
        """``/``: every listed path, sorted."""
        paths = set(self._listed)
        for more in self._more_paths:
            paths.update(more())
        body = msgspec.json.encode({"paths": sorted(paths)})
        return Response(200, msgspec.json.format(body, indent=2))
