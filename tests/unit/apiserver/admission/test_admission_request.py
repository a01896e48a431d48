"""AdmissionRequests of policies and webhooks."""

from steersman.apiserver.admission.admission_request import kind_of
from steersman.schema.resources import Resource, Subresource

POD = Resource(
    "",
    "v1",
    "pods",
    "Pod",
    "pod",
    namespaced=True,
    verbs=("create",),
    subresources=(Subresource("status", "Pod", ()), Subresource("eviction", "Eviction", (), "policy", "v1")),
)


def test_kind_of_returns_kind_of_request_body():
    assert kind_of(POD, "") == {"group": "", "version": "v1", "kind": "Pod"}
    assert kind_of(POD, "status") == {"group": "", "version": "v1", "kind": "Pod"}
    assert kind_of(POD, "eviction") == {"group": "policy", "version": "v1", "kind": "Eviction"}
