"""Cells of Tables, as upstream's printers write them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from steersman.apiserver.generic import columns

MINUTE, HOUR, DAY, YEAR = 60, 3600, 86400, 365 * 86400


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-2, "<invalid>"),
        (-1.9, "0s"),
        (-0.5, "0s"),
        (0, "0s"),
        (119.9, "119s"),
        (120, "2m"),
        (121, "2m1s"),
        (9 * MINUTE + 59, "9m59s"),
        (10 * MINUTE + 59, "10m"),
        (179 * MINUTE, "179m"),
        (3 * HOUR, "3h"),
        (3 * HOUR + 5 * MINUTE, "3h5m"),
        (8 * HOUR + 5 * MINUTE, "8h"),
        (47 * HOUR, "47h"),
        (48 * HOUR, "2d"),
        (50 * HOUR, "2d2h"),
        (8 * DAY + 5 * HOUR, "8d"),
        (729 * DAY, "729d"),
        (2 * YEAR, "2y"),
        (2 * YEAR + 3 * DAY, "2y3d"),
        (8 * YEAR + 3 * DAY, "8y"),
        (1000 * YEAR, "292y"),
    ],
)
def test_duration_has_at_most_two_units(seconds: float, text: str):
    assert columns.human_duration(timedelta(seconds=seconds)) == text


def test_age_is_the_time_since_creation():
    obj = {"metadata": {"creationTimestamp": "2024-05-01T10:00:00Z"}}
    assert columns.age(obj, datetime(2024, 5, 1, 10, 0, 30, tzinfo=UTC)) == "30s"


def test_age_without_creation_time_is_unknown():
    assert columns.age({"metadata": {}}, datetime(2024, 5, 1, tzinfo=UTC)) == "<unknown>"


def test_until_returns_the_time_left():
    assert columns.until("2024-05-01T10:00:30Z", datetime(2024, 5, 1, 10, tzinfo=UTC)) == "30s"


@pytest.mark.parametrize(("labels", "text"), [(None, "<none>"), ({}, "<none>"), ({"b": "2", "a": "1"}, "a=1,b=2")])
def test_labels_are_sorted_by_key(labels, text):
    assert columns.labels_text(labels) == text


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        (None, "<none>"),
        ({}, "<none>"),
        ({"matchLabels": {"b": "2", "a": "1"}}, "a=1,b=2"),
        (
            {
                "matchLabels": {"k": "v"},
                "matchExpressions": [
                    {"key": "z", "operator": "Exists"},
                    {"key": "k", "operator": "NotIn", "values": ["y", "x"]},
                    {"key": "a", "operator": "DoesNotExist"},
                    {"key": "b", "operator": "In", "values": ["1"]},
                ],
            },
            "!a,b in (1),k=v,k notin (x,y),z",
        ),
        ({"matchExpressions": [{"key": "a", "operator": "Odd"}]}, "<error>"),
    ],
)
def test_selector_text_is_accepted_by_kubectl(selector, text):
    assert columns.selector_text(selector) == text


def test_containers_are_joined_by_commas():
    spec = {"containers": [{"name": "a", "image": "x"}, {"name": "b", "image": "y"}], "initContainers": [{"name": "i"}]}
    assert (columns.container_names(spec), columns.container_images(spec)) == ("a,b", "x,y")


def test_access_modes_are_unique_and_in_upstreams_order():
    assert (
        columns.access_modes_text(["ReadWriteOncePod", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOnce"])
        == "RWO,RWX,RWOP"
    )


@pytest.mark.parametrize(("texts", "text"), [(["a", "b"], "a,b"), (["a", "b", "c", "d", "e"], "a,b,c + 2 more...")])
def test_long_lists_are_truncated_with_a_count(texts, text):
    assert columns.first_and_more(texts, 3) == text


@pytest.mark.parametrize(
    ("obj", "name"),
    [
        ({"metadata": {}, "spec": {"storageClassName": "fast"}}, "fast"),
        (
            {
                "metadata": {"annotations": {"volume.beta.kubernetes.io/storage-class": ""}},
                "spec": {"storageClassName": "fast"},
            },
            "",
        ),
        ({"metadata": {}}, ""),
    ],
)
def test_storage_class_annotation_takes_precedence(obj, name):
    assert columns.storage_class_of(obj) == name
