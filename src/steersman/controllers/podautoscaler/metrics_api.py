"""Client of the three metrics APIs, which aggregated servers provide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from steersman.apimachinery import quantity
from steersman.apimachinery.durations import parse_duration
from steersman.apimachinery.selectors import from_label_selector
from steersman.apimachinery.timestamps import parse_time
from steersman.client import requests
from steersman.client.errors import ApiError, ClientError, NotFound
from steersman.controllers.podautoscaler.replicas import Measured, MetricError

if TYPE_CHECKING:
    from lightkube.models.autoscaling_v2 import CrossVersionObjectReference, MetricIdentifier

    from steersman.apimachinery.trees import Tree
    from steersman.client import Client


_RESOURCE: Final = "/apis/metrics.k8s.io/v1beta1"
_CUSTOM: Final = "/apis/custom.metrics.k8s.io/v1beta2"
_EXTERNAL: Final = "/apis/external.metrics.k8s.io/v1beta1"


class MetricsAPI:
    """Client of the metrics APIs. Methods raise MetricError with the text of upstream's client."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def resource(self, name: str, namespace: str, selector: str, *, container: str = "") -> dict[str, Measured]:
        """Return the usage of a resource by pod, or of one named container of each."""
        path = f"{_RESOURCE}/namespaces/{namespace}/pods"
        items = await self._items(path, "resource", "pods.metrics.k8s.io", labelSelector=selector)
        values: dict[str, Measured] = {}
        for item in items:
            rows = item.get("containers") or []
            if container:
                rows = [row for row in rows if row.get("name") == container]
                if not rows:
                    pod = f"{namespace}/{item['metadata']['name']}"
                    raise MetricError(
                        f"failed to get container metrics: container {container} not present in metrics for pod {pod}"
                    )
            used = [row["usage"][name] for row in rows if name in (row.get("usage") or {})]
            if len(used) == len(rows):
                values[item["metadata"]["name"]] = _measured(
                    sum(map(_milli, used)), item.get("timestamp"), item.get("window")
                )
        return values

    async def of_pods(self, metric: MetricIdentifier, namespace: str, selector: str) -> dict[str, Measured]:
        """Return a metric by pod."""
        path = f"{_CUSTOM}/namespaces/{namespace}/pods/*/{metric.name}"
        query = {"labelSelector": selector, "metricLabelSelector": _selector_text(metric)}
        items = await self._items(path, "custom", "", **query)
        return {
            item["describedObject"]["name"]: _measured(
                _milli(item["value"]), item.get("timestamp"), f"{item.get('windowSeconds') or 60}s"
            )
            for item in items
        }

    async def of_object(self, metric: MetricIdentifier, namespace: str, described: CrossVersionObjectReference) -> int:
        """Return a metric of one object, in thousandths."""
        if described.kind == "Namespace":
            path = f"{_CUSTOM}/namespaces/{described.name}/metrics/{metric.name}"
        else:
            try:
                info = (await self._client.discover(described.apiVersion or "v1", described.kind)).info
            except LookupError as error:
                raise MetricError(f"unable to fetch metrics from custom metrics API: {error}") from error
            scope = f"/namespaces/{namespace}" if info.namespaced else ""
            path = f"{_CUSTOM}{scope}/{info.group_resource}/{described.name}/{metric.name}"
        items = await self._items(path, "custom", "", metricLabelSelector=_selector_text(metric))
        return _milli(items[0]["value"])

    async def external(self, metric: MetricIdentifier, namespace: str) -> int:
        """Return the sum of an external metric, in thousandths."""
        path = f"{_EXTERNAL}/namespaces/{namespace}/{metric.name}"
        metric_path = f"{metric.name}.external.metrics.k8s.io"
        items = await self._items(path, "external", metric_path, labelSelector=_selector_text(metric))
        return sum(_milli(item["value"]) for item in items)

    async def _items(self, path: str, api: str, metric_path: str, **query: str) -> list[Tree]:
        parameters = tuple((key, value) for key, value in query.items() if value)
        try:
            answer = await self._client.raw(requests.read(path, query=parameters))
            items: list[Tree] = msgspec.json.decode(answer.body).get("items") or []
        except ApiError as error:
            raise MetricError(
                f"unable to fetch metrics from {api} metrics API: {_error_text(error, metric_path)}"
            ) from error
        except (ClientError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise MetricError(f"unable to fetch metrics from {api} metrics API: {error}") from error
        if not items:
            raise MetricError(f"no metrics returned from {api} metrics API")
        return items


def _error_text(error: ApiError, metric_path: str) -> str:
    """Return the error text; a 404 of an unregistered API has the text of upstream's client."""
    if not isinstance(error, NotFound) or "could not find the requested resource" not in str(error):
        return str(error)
    if not metric_path:
        return "no custom metrics API (custom.metrics.k8s.io) registered"
    return f"the server could not find the requested resource (get {metric_path})"


def _selector_text(metric: MetricIdentifier) -> str:
    if metric.selector is None:
        return ""
    return str(from_label_selector(msgspec.to_builtins(metric.selector)))


def _milli(value: object) -> int:
    return quantity.parse(str(value)).milli


def _measured(milli: int, at: str | None, window: str | None) -> Measured:
    seconds = parse_duration(window) if window else 0.0
    return Measured(milli, parse_time(at) if at else None, float(seconds))
