"""Metric of requests for deprecated API versions, so that clients that still use them are found before an upgrade."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apiserver.endpoints.deprecations import removed_release
from steersman.apiserver.observability.metrics import gauge

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steersman.apiserver.discovery.catalog import Catalog
    from steersman.apiserver.filters.request_metrics import RequestMetrics
    from steersman.apiserver.observability.metrics import Family, Labels


class DeprecatedAPIs:
    """Collector of ``apiserver_requested_deprecated_apis``, from the requests that ``RequestMetrics`` counted."""

    def __init__(self, requests: RequestMetrics, catalog: Catalog) -> None:
        self._requests: Final = requests
        self._catalog: Final = catalog

    async def collect(self) -> Iterable[Family]:
        """Return the metric, unless no deprecated version was requested."""
        samples = list(self._samples())
        text = "Deprecated API versions that were requested, by the release that removes them."
        return [gauge("apiserver_requested_deprecated_apis", text, samples)] if samples else []

    def _samples(self) -> Iterable[tuple[Labels, float]]:
        for group, version, name, subresource in self._requests.requested():
            served = self._catalog.group_version(group, version)
            resource = served.resources.get(name) if served is not None else None
            release = removed_release(resource) if resource is not None else None
            if release is not None:
                labels = (
                    ("group", group),
                    ("removed_release", release),
                    ("resource", name),
                    ("subresource", subresource),
                    ("version", version),
                )
                yield labels, 1
