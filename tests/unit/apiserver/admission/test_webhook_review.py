"""Reading of AdmissionReview responses."""

import json

import pytest

from steersman.apimachinery.reviews import ReviewDecodeError
from steersman.apiserver.admission.webhook_review import (
    InvalidResponseError,
    denial,
    read_response,
)

V1 = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}


def read(response: object, *, version: str = "v1", is_mutating: bool = False, **review: object) -> object:
    body = json.dumps({**V1, "response": response, **review}).encode()
    return read_response(body, version=version, uid="u", is_mutating=is_mutating)


def test_read_response_returns_fields():
    response = read({"uid": "u", "allowed": True, "warnings": ["w"], "auditAnnotations": {"k": "v"}})
    assert (response.is_allowed, response.warnings, response.annotations) == (True, ("w",), (("k", "v"),))


def test_read_response_accepts_half_surrogates():
    body = json.dumps({**V1, "response": {"uid": "u", "allowed": True, "warnings": ["\ud800"]}}).encode()
    response = read_response(body, version="v1", uid="u", is_mutating=False)
    assert (response.is_allowed, len(response.warnings)) == (True, 1)


@pytest.mark.parametrize(
    ("response", "review", "text"),
    [
        (None, {}, "webhook response was absent"),
        ({"uid": "x"}, {}, 'expected response.uid="u", got "x"'),
        ({"uid": "u"}, {"kind": ""}, "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got"),
        ({"uid": "u", "patch": "e30="}, {}, "validating webhook may not return response.patch"),
        ({"uid": "u", "patchType": "JSONPatch"}, {}, "validating webhook may not return response.patchType"),
    ],
)
def test_read_response_rejects_invalid_review(response, review, text):
    with pytest.raises(InvalidResponseError, match=text):
        read(response, **review)


@pytest.mark.parametrize(
    ("response", "review", "text"),
    [
        ({}, {"apiVersion": "admission.k8s.io/v1beta1"}, r"converting \(v1beta1.AdmissionReview\) to \(v1.Admission"),
        ({}, {"kind": "Pod"}, 'no kind "Pod" is registered'),
        ([], {}, "cannot unmarshal array"),
        ({"allowed": "yes"}, {}, "cannot unmarshal string"),
        ({"patch": "%"}, {}, "illegal base64 data"),
        ({"warnings": [1]}, {}, "warnings"),
        ({"auditAnnotations": {"a": 1}}, {}, "auditAnnotations"),
        ({"status": {"code": "x"}}, {}, r"field Status\.response\.status\.code of type int32"),
        ({"status": {"details": {"causes": [{"message": 1}]}}}, {}, r"\.response\.status\.details\.causes\.message"),
    ],
)
def test_read_response_rejects_other_types(response, review, text):
    with pytest.raises(ReviewDecodeError, match=text):
        read(response, **review)


def test_read_response_of_v1beta1_needs_no_patch_type_and_no_uid():
    version = {"apiVersion": "admission.k8s.io/v1beta1"}
    response = read({"allowed": True, "patch": "W10="}, version="v1beta1", is_mutating=True, **version)
    assert (response.patch, response.patch_type) == (b"[]", "JSONPatch")
    assert read({"allowed": True, "patch": "W10="}, version="v1beta1", **version).patch == b""


@pytest.mark.parametrize(
    ("status", "code", "text"),
    [
        (None, 400, "denied the request without explanation"),
        ({"code": 200, "status": "Success", "reason": "Conflict"}, 400, "denied the request: Conflict"),
        ({"code": 100000, "message": "no", "reason": "x"}, 999, "denied the request: no"),
    ],
)
def test_denial_has_code_and_message(status, code, text):
    error = denial("w", status)
    assert (error.code, error.status["status"]) == (code, "Failure")
    assert error.message == f'admission webhook "w" {text}'
