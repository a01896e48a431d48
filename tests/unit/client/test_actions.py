"""Summary of the writes of a reconcile."""

import pytest

from steersman.client.actions import ACTIONS, Actions, note_action, resource_of
from steersman.client.transport import Request

PODS = "/api/v1/namespaces/default/pods"


def test_actions_without_writes_read_nothing():
    actions = Actions()
    actions.count(Request("GET", PODS))
    assert str(actions) == "nothing"


def test_actions_sum_up_writes_by_verb_and_resource_in_order():
    actions = Actions()
    for method, path in (
        ("POST", PODS),
        ("POST", PODS),
        ("DELETE", f"{PODS}/a"),
        ("PUT", "/apis/apps/v1/namespaces/default/replicasets/web/status"),
        ("PATCH", "/api/v1/nodes/a"),
    ):
        actions.count(Request(method, path))
    actions.count(Request("POST", PODS, (("dryRun", "All"),)))
    assert str(actions) == (
        "created pods x2, deleted pods, updated replicasets/status, patched nodes, dry-run created pods"
    )


def test_notes_are_recorded_first_and_once():
    actions = Actions()
    token = ACTIONS.set(actions)
    try:
        note_action("stage ready")
        note_action("stage ready")
    finally:
        ACTIONS.reset(token)
    note_action("outside of a reconcile")
    actions.count(Request("PATCH", f"{PODS}/a/status"))
    assert str(actions) == "stage ready, patched pods/status"


@pytest.mark.parametrize(
    ("path", "resource"),
    [
        (PODS, "pods"),
        (f"{PODS}/a/binding", "pods/binding"),
        ("/api/v1/namespaces", "namespaces"),
        ("/api/v1/namespaces/default", "namespaces"),
        ("/api/v1/namespaces/default/status", "namespaces/status"),
        ("/api/v1/namespaces/default/finalize", "namespaces/finalize"),
        ("/apis/example.com/v1/widgets/a/status", "widgets/status"),
        ("/version", "/version"),
    ],
)
def test_resource_of_names_resource_and_subresource(path, resource):
    assert resource_of(path) == resource
