"""Causes of queued keys."""

import logging

import pytest

from steersman.asynckit.structured_logging import V2
from steersman.client.causes import begin_delivery, caused_by, current_cause, describe, end_delivery, is_traced
from steersman.client.changes import Added, Deleted, Updated


def pod(version="1"):
    return {"metadata": {"namespace": "default", "name": "web", "resourceVersion": version}}


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (Added(pod()), "Pod default/web added"),
        (Added(pod(), is_initial=True), "Pod default/web listed"),
        (Updated(pod(), pod("2")), "Pod default/web updated"),
        (Updated(pod(), pod()), "Pod default/web resync"),
        (Deleted(pod()), "Pod default/web deleted"),
    ],
)
def test_describe_names_kind_object_and_event(change, text):
    assert describe("Pod", change) == text


def test_delivery_is_the_cause_until_it_ends():
    delivery = begin_delivery("Pod", Added(pod()))
    assert current_cause() == "Pod default/web added"
    end_delivery(delivery)
    assert current_cause() == ""


def test_end_of_no_delivery_is_a_noop():
    end_delivery(None)
    assert current_cause() == ""


@pytest.mark.parametrize(("level", "expected"), [(V2, True), (logging.INFO, False)])
def test_causes_are_traced_if_reconciles_are_logged(caplog, level, expected):
    caplog.set_level(level)
    assert is_traced() is expected


def test_because_sets_the_cause_of_its_block():
    with caused_by("retry 2"):
        assert current_cause() == "retry 2"
    assert current_cause() == ""


def test_cause_of_a_delivery_is_described_once():
    delivery = begin_delivery("Pod", Added(pod()))
    assert current_cause() is current_cause()
    end_delivery(delivery)
