"""Causes of queued keys."""

import logging

import pytest

from steersman.asynckit.structured_logging import V2
from steersman.client.causes import because, current_cause, describe, traced
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


def test_traced_callbacks_publish_their_event(caplog):
    caplog.set_level(V2)
    causes = []
    call = traced(lambda _: causes.append(current_cause()), "Pod")
    call(Added(pod()))
    assert (causes, current_cause()) == (["Pod default/web added"], "")


def test_traced_callbacks_that_raise_leave_no_cause(caplog):
    caplog.set_level(V2)

    def fail(_):
        raise RuntimeError

    with pytest.raises(RuntimeError):
        traced(fail, "Pod")(Added(pod()))
    assert current_cause() == ""


def test_callbacks_are_not_wrapped_when_reconciles_are_not_logged(caplog):
    caplog.set_level(logging.INFO)

    def call(_):
        pass

    assert traced(call, "Pod") is call


def test_because_sets_the_cause_of_its_block():
    with because("retry 2"):
        assert current_cause() == "retry 2"
    assert current_cause() == ""
