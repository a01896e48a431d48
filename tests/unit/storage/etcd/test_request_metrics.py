from __future__ import annotations

import pytest

from steersman.storage.etcd.request_metrics import BUCKETS, RequestMetrics, folder_of, merged


@pytest.mark.parametrize(
    ("key", "folder"),
    [
        ("/registry/pods/ns/a", "/registry/pods/"),
        ("/registry/namespaces/a", "/registry/namespaces/"),
        ("/registry/pods/", "/registry/pods/"),
        ("/registry/sea.example.com/ships/ns/a", "/registry/sea.example.com/ships/"),
        ("/registry/apiregistration.k8s.io/apiservices/", "/registry/apiregistration.k8s.io/apiservices/"),
    ],
)
def test_folder_names_the_resource(key, folder):
    assert folder_of(key) == folder


def test_requests_are_counted_in_the_bucket_of_their_duration():
    metrics = RequestMetrics()
    for seconds in (0.001, 0.005, 0.03, 100.0):
        metrics.observe("get", "/registry/pods/ns/a", seconds, is_error=seconds > 1)
    (durations,) = metrics.durations.values()
    counts = durations.histogram.counts
    assert (counts[0], counts[2], counts[len(BUCKETS)]) == (2, 1, 1)
    assert (durations.histogram.count, durations.errors) == (4, 1)


def test_number_of_resources_is_bounded():
    metrics = RequestMetrics()
    for n in range(5000):
        metrics.observe("get", f"/registry/r{n}/a", 0.1, is_error=False)
    assert len(metrics.durations) < 3000
    assert sum(duration.histogram.count for duration in metrics.durations.values()) == 5000


def test_durations_of_several_clusters_are_added():
    clusters = [RequestMetrics(), RequestMetrics()]
    clusters[0].observe("get", "/registry/pods/ns/a", 0.001, is_error=False)
    for cluster in clusters:
        cluster.observe("get", "/registry/events/ns/a", 0.001, is_error=True)
    total = merged(clusters)
    assert {folder: (item.histogram.count, item.errors) for (_, folder), item in total.items()} == {
        "/registry/pods/": (1, 0),
        "/registry/events/": (2, 2),
    }
    assert [duration.histogram.count for duration in clusters[1].durations.values()] == [1]
