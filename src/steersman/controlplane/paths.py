"""Non-resource paths and their handlers."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steersman.apimachinery.metric_filter import NO_FILTER
from steersman.apimachinery.zpages import FLAGZ_GATE, STATUSZ_GATE, flagz, negotiate_page, statusz
from steersman.apiserver.discovery.handlers import DiscoveryHandlers
from steersman.apiserver.discovery.openid import CONFIGURATION_PATH, KEYS_PATH, OpenID
from steersman.apiserver.discovery.version import VersionEndpoint
from steersman.apiserver.flowcontrol.dumps import Instant, dump_priority_levels, dump_queues, dump_requests
from steersman.apiserver.health.checks import Check, HealthEndpoint, ping
from steersman.apiserver.http import Response
from steersman.apiserver.observability import process_metrics
from steersman.apiserver.observability.metrics import MetricsEndpoint
from steersman.apiserver.observability.slis import HealthcheckMetrics
from steersman.apiserver.server.routes import ANY_METHOD, Routes
from steersman.runtime.build import build

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from steersman.apimachinery.metric_filter import MetricFilter
    from steersman.apimachinery.zpages import PageContent
    from steersman.apiserver.discovery.catalog import Catalog
    from steersman.apiserver.flowcontrol.control import FlowControl
    from steersman.apiserver.http import Request
    from steersman.apiserver.observability.metrics import Family
    from steersman.apiserver.openapi.handlers import OpenAPIHandlers
    from steersman.apiserver.openapi.remote import RemoteDocuments
    from steersman.apiserver.openapi.sources import CustomSchemas
    from steersman.asynckit.clock import Clock
    from steersman.runtime.http import Page

_COMPONENT: Final = "kube-apiserver"
_FLOW_CONTROL_DUMPS: Final = "/debug/api_priority_and_fairness"


class HealthChecks(NamedTuple):
    """Checks of the health endpoints, besides ``ping`` and ``log``."""

    #: Checks of the store, for all endpoints.
    storage: Sequence[Check]
    #: Checks of KMS plugins, for ``/healthz`` and ``/readyz``.
    encryption: Sequence[Check] = ()
    #: Checks of the post-start hooks, for all endpoints.
    hooks: Sequence[Check] = ()
    #: Checks for ``/readyz`` only: after those of the store, and at the end.
    ready: Sequence[Check] = ()
    shutdown: Sequence[Check] = ()


def add_health(routes: Routes, checks: HealthChecks) -> None:
    """Serve ``/healthz``, ``/livez`` and ``/readyz``, and their results at ``/metrics/slis``."""
    first = [Check("ping", ping), Check("log", ping), *checks.storage]
    common = [*first, *checks.hooks]
    results = HealthcheckMetrics()
    for name, health_checks in (
        ("healthz", [*common, *checks.encryption]),
        ("livez", common),
        ("readyz", [*first, *checks.ready, *checks.hooks, *checks.encryption, *checks.shutdown]),
    ):
        for path, handler in HealthEndpoint(name, health_checks, observe=results.observe).handlers().items():
            routes.add(path, handler, methods=ANY_METHOD)
    slis = MetricsEndpoint()
    slis.add(results.collect)
    routes.add("/metrics/slis", slis, methods=ANY_METHOD)


def add_about(
    routes: Routes,
    *,
    collectors: Iterable[Callable[[], Awaitable[Iterable[Family]]]],
    metric_filter: MetricFilter = NO_FILTER,
) -> None:
    """Add ``/version`` and ``/metrics``."""
    version = VersionEndpoint()
    routes.add("/version", version)
    routes.add("/version/", version, listed=False)
    metrics = MetricsEndpoint(metric_filter)
    for collect in (process_metrics.collect, *collectors):
        metrics.add(collect)
    routes.add("/metrics", metrics, methods=ANY_METHOD)


def add_openid(
    routes: Routes,
    issuer: str,
    *,
    address: Callable[[], str],
    keys: Callable[[], Awaitable[list[dict[str, Any]]]],
    jwks_uri: str = "",
) -> None:
    """Add the OpenID discovery documents, by which relying parties verify service account tokens."""
    openid = OpenID(issuer, address=address, keys=keys, jwks_uri=jwks_uri)
    routes.add(CONFIGURATION_PATH, openid.configuration)
    routes.add(KEYS_PATH, openid.keys)


def add_discovery(
    routes: Routes,
    catalog: Catalog,
    *,
    custom: CustomSchemas,
    clock: Clock,
    server_address: Callable[[], str],
    remote: RemoteDocuments,
    has_storage_version_hashes: bool = True,
) -> None:
    """Add ``/api``, ``/apis`` and below, and ``/openapi``; ``remote``: documents of aggregated API servers."""
    discovery = DiscoveryHandlers(
        catalog, server_address=server_address, has_storage_version_hashes=has_storage_version_hashes
    )
    routes.add("/api", discovery.core)
    routes.add("/api/", discovery.core, listed=False)
    routes.add("/apis", discovery.groups, methods=ANY_METHOD)
    routes.add("/apis/", discovery.groups, methods=ANY_METHOD)
    routes.add_prefix("/api/", discovery.below, methods=ANY_METHOD)
    routes.add_prefix("/apis/", discovery.below, methods=ANY_METHOD)
    routes.add_paths(discovery.paths)

    handlers: list[OpenAPIHandlers] = []

    def openapi() -> OpenAPIHandlers:
        """Return the OpenAPI handlers, constructed on first use, as their import is slow."""
        if not handlers:
            from steersman.apiserver.openapi.handlers import OpenAPIHandlers  # noqa: PLC0415

            handlers.append(OpenAPIHandlers(catalog, custom, clock=clock, remote=remote))
        return handlers[0]

    async def v2(request: Request) -> Response:
        return await openapi().v2(request)

    async def v3_index(request: Request) -> Response:
        return await openapi().v3_index(request)

    async def v3(request: Request) -> Response:
        return await openapi().v3(request)

    routes.add("/openapi/v2", v2, methods=ANY_METHOD)
    routes.add("/openapi/v3", v3_index, methods=ANY_METHOD)
    routes.add("/openapi/v3/", v3_index, methods=ANY_METHOD)
    routes.add_prefix("/openapi/v3/", v3, methods=ANY_METHOD)


def add_zpages(
    routes: Routes, flags: Mapping[str, str], *, clock: Clock, gates: Mapping[str, bool] = MappingProxyType({})
) -> None:
    """Add ``/statusz`` and ``/flagz``, unless their feature gates are off."""
    started = clock.now()

    def page(request: Request, content: PageContent) -> Response:
        form = negotiate_page(request.header(b"accept"), content.kind)
        return Response(200, content.encode(form), content_type=form.content_type.encode())

    async def status(request: Request) -> Response:
        return page(request, statusz(_COMPONENT, routes.paths(), build(), started=started, now=clock.now()))

    async def flag_values(request: Request) -> Response:
        return page(request, flagz(_COMPONENT, flags))

    if gates.get(STATUSZ_GATE, True):
        routes.add("/statusz", status, methods=ANY_METHOD)
    if gates.get(FLAGZ_GATE, True):
        routes.add("/flagz", flag_values, methods=ANY_METHOD)


def add_debug(routes: Routes, *, on_verbosity: Callable[[], None]) -> None:
    """Add ``/debug/pprof`` and ``/debug/flags``, which are not listed. ``on_verbosity`` is called after the verbosity is set."""

    async def profile(request: Request) -> Response:
        from steersman.runtime import profiling  # noqa: PLC0415 — few servers are profiled

        name = request.path.removeprefix(profiling.PREFIX)
        page = profiling.PAGES.get(name, profiling.unknown_page)
        return _response(await page({key: values[-1] for key, values in request.query.items()}))

    async def redirect(request: Request) -> Response:
        del request
        return Response(301, headers=[(b"location", b"/debug/pprof/")], content_type=b"")

    async def flags(request: Request) -> Response:
        from steersman.runtime import debug_flags  # noqa: PLC0415 — as above

        if request.path != debug_flags.VERBOSITY:
            return _response(debug_flags.index_page())
        page = debug_flags.verbosity_page(request.method, await request.body() if request.method == "PUT" else b"")
        on_verbosity()
        return _response(page)

    routes.add("/debug/pprof", redirect, methods=ANY_METHOD, listed=False)
    routes.add_prefix("/debug/pprof/", profile, methods=ANY_METHOD)
    routes.add("/debug/flags", flags, methods=ANY_METHOD, listed=False)
    routes.add_prefix("/debug/flags/", flags, methods=ANY_METHOD)


def _response(page: Page) -> Response:
    headers = [(b"x-content-type-options", b"nosniff")]
    return Response(page.status, page.body, content_type=page.content_type.encode(), headers=headers)


def add_flow_control_dumps(routes: Routes, control: FlowControl, *, clock: Clock) -> None:
    """Add the dumps of priority and fairness. Upstream: ``configController.Install``."""

    async def dump(request: Request) -> Response:
        match request.path.rpartition("/")[2]:
            case "dump_priority_levels":
                text = dump_priority_levels(control)
            case "dump_queues":
                text = dump_queues(control)
            case _:
                now = Instant(clock.now(), clock.monotonic())
                text = dump_requests(control, now, with_details=bool(request.param("includeRequestDetails")))
        return Response(200, text.encode("utf-8", "replace"), content_type=b"text/plain; charset=utf-8")

    for name in ("dump_priority_levels", "dump_queues", "dump_requests"):
        routes.add(f"{_FLOW_CONTROL_DUMPS}/{name}", dump, methods=ANY_METHOD, listed=False)
