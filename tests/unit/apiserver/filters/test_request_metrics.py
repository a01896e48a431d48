"""Request metrics."""

import pytest

from steersman.apiserver.filters.max_in_flight import InFlight
from steersman.apiserver.filters.request_metrics import RequestMetrics
from steersman.apiserver.request import RequestInfo


def pods(verb: str = "list", **more: str) -> RequestInfo:
    return RequestInfo(verb, "/", is_resource=True, version="v1", resource="pods", **more)


async def samples(metrics: RequestMetrics, name: str) -> list:
    family = next(f for f in await metrics.collect() if f.name == name)
    return list(family.samples)


@pytest.mark.parametrize(
    ("info", "scope", "verb"),
    [
        (pods(), "cluster", "LIST"),
        (pods(namespace="a"), "namespace", "LIST"),
        (pods("get", namespace="a", name="b"), "resource", "GET"),
        (pods("create", namespace="a"), "resource", "POST"),
        (pods("update", namespace="a", name="b"), "resource", "PUT"),
        (RequestInfo("get", "/healthz"), "", "GET"),
    ],
)
async def test_requests_are_counted_by_scope_and_verb(info, scope, verb):
    metrics = RequestMetrics(InFlight())
    metrics.count(metrics.series(info, ""), 200, 0.01)
    ((_, labels, count),) = await samples(metrics, "apiserver_request_total")
    assert (dict(labels)["scope"], dict(labels)["verb"], dict(labels)["code"], count) == (scope, verb, "200", 1)


async def test_durations_are_cumulative_in_buckets():
    metrics = RequestMetrics(InFlight())
    series = metrics.series(pods(), "")
    for seconds in (0.001, 0.03, 100):
        metrics.count(series, 200, seconds)
    by_name = {
        (name, dict(labels).get("le")): value
        for name, labels, value in await samples(metrics, "apiserver_request_duration_seconds")
    }
    assert (
        by_name["_bucket", "0.005"],
        by_name["_bucket", "0.05"],
        by_name["_bucket", "60"],
        by_name["_bucket", "+Inf"],
    ) == (
        1,
        2,
        2,
        3,
    )
    assert by_name["_count", None] == 3


async def test_label_sets_are_bounded():
    metrics = RequestMetrics(InFlight())
    for number in range(5000):
        metrics.count(metrics.series(pods(subresource=str(number)), ""), 404, 0)
    rows = await samples(metrics, "apiserver_request_total")
    assert len(rows) <= 4097
    assert sum(count for _, _, count in rows) == 5000


async def test_long_labels_share_a_series():
    metrics = RequestMetrics(InFlight())
    for info in (pods(subresource="x" * 1000), RequestInfo("v" * 1000, "/")):
        metrics.count(metrics.series(info, ""), 404, 0)
    ((_, labels, count),) = await samples(metrics, "apiserver_request_total")
    assert (dict(labels)["verb"], dict(labels)["subresource"], count) == ("OTHER", "", 2)


async def test_durations_have_as_many_samples_as_their_length():
    metrics = RequestMetrics(InFlight())
    for verb in ("list", "get"):
        metrics.count(metrics.series(pods(verb), ""), 200, 0)
    family = next(f for f in await metrics.collect() if f.name == "apiserver_request_duration_seconds")
    assert len(family.samples) == len(list(family.samples)) == len(list(family.samples))
    assert next(iter(family.samples)) in family.samples


async def test_long_running_requests_are_counted_while_in_progress():
    metrics = RequestMetrics(InFlight())
    series = metrics.series(pods("watch"), "")
    series.opened()
    assert [count for _, _, count in await samples(metrics, "apiserver_longrunning_requests")] == [1]
    series.closed()
    assert await samples(metrics, "apiserver_longrunning_requests") == []


async def test_long_running_requests_are_counted_without_dry_run():
    metrics = RequestMetrics(InFlight())
    for dry_run in ("", "All"):
        metrics.series(pods("watch"), dry_run).opened()
    ((_, labels, count),) = await samples(metrics, "apiserver_longrunning_requests")
    assert ("dry_run" in dict(labels), count) == (False, 2)


async def test_requests_of_the_server_itself_are_counted_by_resource_and_verb():
    metrics = RequestMetrics(InFlight())
    for namespace in ("", "a"):
        metrics.series(pods(namespace=namespace), "").self_requests += 1
    labels = (("group", ""), ("resource", "pods"), ("subresource", ""), ("verb", "LIST"))
    assert await samples(metrics, "apiserver_selfrequest_total") == [("", labels, 2)]


async def test_sli_durations_are_without_excluded_time_and_dry_run():
    metrics = RequestMetrics(InFlight())
    for dry_run, seconds, excluded in (("", 0.5, 0.47), ("", 0.5, 0.0), ("All", 2.5, 0.7)):
        metrics.count(metrics.series(pods("create"), dry_run), 201, seconds, excluded)
    rows = await samples(metrics, "apiserver_request_sli_duration_seconds")
    assert len({labels for name, labels, _ in rows if name == "_count"}) == 1
    assert not any("dry_run" in dict(labels) for _, labels, _ in rows)
    by_name = {(name, dict(labels).get("le")): value for name, labels, value in rows}
    assert [by_name["_bucket", le] for le in ("0.05", "0.4", "0.6", "1.5", "2", "+Inf")] == [1, 1, 2, 2, 3, 3]
    assert ("_bucket", "0.025") not in by_name
    assert (by_name["_sum", None], by_name["_count", None]) == (pytest.approx(2.33), 3)
    family = next(f for f in await metrics.collect() if f.name == "apiserver_request_sli_duration_seconds")
    assert len(family.samples) == len(rows)
