"""SubjectAccessReviews of the webhook authorizer."""

import json

import pytest

from steersman.apimachinery.reviews import ReviewDecodeError
from steersman.apimachinery.selectors import parse_label_selector
from steersman.apiserver.authz.access_review import (
    ReviewStatus,
    condition_request,
    encode_spec,
    read_status,
    review_body,
    review_spec,
)
from steersman.apiserver.request import RequestInfo, UserInfo

ALICE = UserInfo("alice", ("devs", "all"), "u1", {"scopes": ("a", "b")})
LABELS = tuple(parse_label_selector("app=web,tier!=x,env in (a,b),!old,new,size>3").requirements)
LIST = RequestInfo(
    "list",
    "/api/v1/namespaces/ns/pods",
    True,
    "",
    "v1",
    "ns",
    "pods",
    fields=(("spec.nodeName", "n", True), ("status.phase", "Failed", False)),
    labels=LABELS,
)


def body(info, version="v1", user=ALICE):
    return json.loads(review_body(encode_spec(review_spec(user, info), version=version), version=version))


def test_review_of_a_resource_has_all_attributes():
    info = RequestInfo("get", "/p", True, "apps", "v1", "ns", "deployments", "web", "scale")
    assert body(info) == {
        "kind": "SubjectAccessReview",
        "apiVersion": "authorization.k8s.io/v1",
        "metadata": {},
        "spec": {
            "resourceAttributes": {
                "namespace": "ns",
                "verb": "get",
                "group": "apps",
                "version": "v1",
                "resource": "deployments",
                "subresource": "scale",
                "name": "web",
            },
            "user": "alice",
            "groups": ["devs", "all"],
            "extra": {"scopes": ["a", "b"]},
            "uid": "u1",
        },
        "status": {"allowed": False},
    }


def test_review_of_v1beta1_names_groups_differently():
    review = body(RequestInfo("get", "/healthz"), "v1beta1", UserInfo("bob", ("g",)))
    assert review["apiVersion"] == "authorization.k8s.io/v1beta1"
    assert review["spec"] == {
        "nonResourceAttributes": {"path": "/healthz", "verb": "get"},
        "user": "bob",
        "group": ["g"],
    }


def test_review_of_a_collection_has_the_requirements_of_its_selectors():
    attributes = body(LIST)["spec"]["resourceAttributes"]
    assert attributes["fieldSelector"] == {
        "requirements": [
            {"key": "spec.nodeName", "operator": "In", "values": ["n"]},
            {"key": "status.phase", "operator": "NotIn", "values": ["Failed"]},
        ]
    }
    by_key = {requirement.pop("key"): requirement for requirement in attributes["labelSelector"]["requirements"]}
    assert by_key == {  # without size>3, which reviews cannot express
        "app": {"operator": "In", "values": ["web"]},
        "tier": {"operator": "NotIn", "values": ["x"]},
        "env": {"operator": "In", "values": ["a", "b"]},
        "old": {"operator": "DoesNotExist"},
        "new": {"operator": "Exists"},
    }


def test_request_of_conditions_has_empty_texts_and_asked_selectors():
    request = condition_request(review_spec(UserInfo("bob"), LIST), fields=True, labels=False)
    assert (request["groups"], request["extra"], request["uid"]) == ([], {}, "")
    assert request["resourceAttributes"]["subresource"] == ""
    assert "fieldSelector" in request["resourceAttributes"]
    assert "labelSelector" not in request["resourceAttributes"]


def test_status_is_read_with_its_absent_fields():
    assert read_status(b'{"status":{"allowed":true,"reason":"r"}}', version="v1") == ReviewStatus(True, reason="r")
    assert read_status(b"{}", version="v1") == ReviewStatus()
    assert read_status(b'{"status":{"allowed":null,"new":1}}', version="v1") == ReviewStatus()


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"[]",
        b'{"status":',
        b'{"status":{"allowed":"true"}}',
        b'{"status":{"allowed":1}}',
        b'{"status":[]}',
        b'{"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1","status":{"allowed":true}}',
        b'{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1beta1","status":{"allowed":true}}',
        b'{"kind":"Status","apiVersion":"v1","status":"Success"}',
        b"\xff",
        b"[" * 100_000,
    ],
)
def test_malformed_answer_is_an_error(answer):
    with pytest.raises(ReviewDecodeError):
        read_status(answer, version="v1")
