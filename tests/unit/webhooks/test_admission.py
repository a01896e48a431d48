"""Admission webhooks: reviews in, reviews out."""

from __future__ import annotations

import base64
import json
from typing import Any

import msgspec
import pytest
from lightkube.models.core_v1 import ConfigMap, Pod
from lightkube.models.meta_v1 import ObjectMeta

from steersman.apimachinery.errors import invalid, not_found
from steersman.apimachinery.field import invalid as invalid_field
from steersman.apimachinery.patch.json_patch import apply_operations
from steersman.client import custom, resource_type, tree
from steersman.client.errors import Forbidden
from steersman.webhooks import AdmissionRequest, AdmissionResponse, allowed, denied, mutated
from steersman.webhooks.admission import AdmissionWebhook
from steersman.webhooks.reviews import ReviewError

CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "new": 1}, "data": {"k": "v"}}


class WidgetSpec(msgspec.Struct):
    size: int = 1
    parts: list[str] = msgspec.field(default_factory=list)


class Widget(msgspec.Struct):
    metadata: ObjectMeta
    spec: WidgetSpec = msgspec.field(default_factory=WidgetSpec)
    apiVersion: str = "example.com/v1"  # noqa: N815
    kind: str = "Widget"


WIDGETS = custom("example.com/v1", "Widget", plural="widgets", model=Widget)


def review(
    obj: Any = CONFIG_MAP, *, kind: str = "v1/ConfigMap", version: str = "v1", operation: str = "CREATE", **more: Any
) -> bytes:
    api_version, _, kind = kind.rpartition("/")
    group, _, kind_version = api_version.rpartition("/")
    request = {
        "uid": "u1",
        "kind": {"group": group, "version": kind_version, "kind": kind},
        "resource": {"group": group, "version": kind_version, "resource": f"{kind.lower()}s"},
        "operation": operation,
        "userInfo": {"username": "jane", "groups": ["a"]},
        "object": obj,
        **more,
    }
    body = {"apiVersion": f"admission.k8s.io/{version}", "kind": "AdmissionReview", "request": request}
    return json.dumps(body).encode()


async def response_of(handler: Any, body: bytes, resource: Any = None, *, is_mutating: bool = True) -> dict[str, Any]:
    info = None if resource is None else resource_type(resource)
    answer = json.loads(await AdmissionWebhook(handler, info, is_mutating=is_mutating).review(body))
    assert answer["kind"] == "AdmissionReview"
    response: dict[str, Any] = answer["response"]
    assert response["uid"] == "u1"
    return response


def patch_of(response: dict[str, Any]) -> list[dict[str, Any]]:
    assert (response["allowed"], response["patchType"]) == (True, "JSONPatch")
    patch: list[dict[str, Any]] = json.loads(base64.b64decode(response["patch"]))
    return patch


async def test_handler_receives_the_typed_request() -> None:
    requests: list[AdmissionRequest[ConfigMap]] = []

    async def handler(request: AdmissionRequest[ConfigMap]) -> AdmissionResponse:
        requests.append(request)
        return allowed()

    body = review(
        operation="UPDATE",
        name="a",
        namespace="b",
        oldObject={**CONFIG_MAP, "data": {"k": "old"}},
        dryRun=True,
        options={"kind": "UpdateOptions", "fieldManager": "x"},
        subResource="status",
        requestKind={"group": "", "version": "v1", "kind": "ConfigMap"},
        userInfo={"username": "jane", "uid": "7", "groups": ["a"], "extra": {"e": ["1"]}},
    )
    assert await response_of(handler, body, ConfigMap) == {"uid": "u1", "allowed": True}
    (request,) = requests
    assert isinstance(request.object, ConfigMap)
    assert request.old_object is not None
    assert (request.object.data, request.old_object.data) == ({"k": "v"}, {"k": "old"})
    assert (request.operation, request.name, request.namespace, request.subresource) == ("UPDATE", "a", "b", "status")
    assert (request.kind.kind, request.resource.resource) == ("ConfigMap", "configmaps")
    assert (request.user.username, request.user.groups, request.user.extra) == ("jane", ["a"], {"e": ["1"]})
    assert request.dry_run
    assert request.options == {"kind": "UpdateOptions", "fieldManager": "x"}


async def test_object_of_a_deletion_is_none() -> None:
    def handler(request: AdmissionRequest[ConfigMap]) -> AdmissionResponse:
        assert request.old_object is not None
        return denied(f"{request.object} {request.old_object.data}")

    response = await response_of(handler, review(None, operation="DELETE", oldObject=CONFIG_MAP), ConfigMap)
    assert response["status"]["message"] == "None {'k': 'v'}"


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
async def test_response_has_the_version_of_the_request(version: str) -> None:
    answer = json.loads(
        await AdmissionWebhook(lambda request: allowed(), None, is_mutating=False).review(review(version=version))
    )
    assert answer["apiVersion"] == f"admission.k8s.io/{version}"


async def test_permission_with_message_warnings_and_audit_annotations() -> None:
    response = await response_of(
        lambda request: allowed("fine", warnings=["old"], audit_annotations={"k": "v"}), review()
    )
    assert response == {
        "uid": "u1",
        "allowed": True,
        "status": {"code": 200, "message": "fine"},
        "warnings": ["old"],
        "auditAnnotations": {"k": "v"},
    }


async def test_denial_has_code_reason_and_causes() -> None:
    cause = {"field": "data.k", "message": "too short", "reason": "FieldValueInvalid"}
    response = await response_of(
        lambda request: denied("no", code=422, reason="Invalid", causes=[cause], warnings=["w"]), review()
    )
    status = {"status": "Failure", "message": "no", "reason": "Invalid", "code": 422, "details": {"causes": [cause]}}
    assert response == {"uid": "u1", "allowed": False, "status": status, "warnings": ["w"]}


@pytest.mark.parametrize("code", [200, 399, 600])
def test_denial_with_a_code_of_no_error_is_rejected(code: int) -> None:
    with pytest.raises(ValueError, match="400 to 599"):
        denied("no", code=code)


def test_decision_and_message_of_another_type_are_rejected() -> None:
    with pytest.raises(TypeError, match="is_allowed must be a boolean"):
        AdmissionResponse(is_allowed="no")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="message must be a string"):
        denied(ValueError("no"))  # type: ignore[arg-type]


def test_one_string_as_warnings_is_rejected() -> None:
    with pytest.raises(TypeError, match="sequence of strings"):
        allowed(warnings="careful")
    with pytest.raises(TypeError, match="strings to strings"):
        allowed(audit_annotations={"k": 1})  # type: ignore[dict-item]


async def test_status_error_denies_with_its_status() -> None:
    def handler(request: Any) -> AdmissionResponse:
        raise invalid("Widget.example.com", "a", [invalid_field("spec", 1, "too small")])

    response = await response_of(handler, review())
    assert (response["allowed"], response["status"]["code"]) == (False, 422)
    assert response["status"]["details"]["causes"][0]["field"] == "spec"


@pytest.mark.parametrize(
    "handler",
    [
        pytest.param(lambda request: 1 / 0, id="exception"),
        pytest.param(lambda request: None, id="no response"),
        pytest.param(lambda request: True, id="boolean"),
        pytest.param(lambda request: mutated("text"), id="no object"),
        pytest.param(lambda request: mutated(Pod()), id="struct for a tree"),
    ],
)
async def test_failing_handler_denies_the_request(handler: Any, caplog: pytest.LogCaptureFixture) -> None:
    response = await response_of(handler, review())
    assert (response["allowed"], response["status"]["code"]) == (False, 500)
    assert response["status"]["message"] == "Internal error occurred: the handler of the webhook failed, see its log"
    (record,) = caplog.records
    assert record.exc_info is not None


async def test_error_of_a_client_is_a_failure_of_the_handler(caplog: pytest.LogCaptureFixture) -> None:
    def handler(request: Any) -> AdmissionResponse:
        raise Forbidden(not_found("secrets", "key").status)

    response = await response_of(handler, review())
    assert (response["allowed"], response["status"]["code"], len(caplog.records)) == (False, 500, 1)
    assert "secrets" not in json.dumps(response)


async def test_validating_handler_must_not_change_the_object(caplog: pytest.LogCaptureFixture) -> None:
    response = await response_of(lambda request: mutated(request.object), review(), is_mutating=False)
    assert (response["allowed"], response["status"]["code"], len(caplog.records)) == (False, 500, 1)


async def test_patch_of_a_tree_has_what_the_handler_changed_in_place() -> None:
    def handler(request: AdmissionRequest[dict[str, Any]]) -> AdmissionResponse:
        assert request.object is not None
        request.object["data"]["k"] = "w"
        return mutated(request.object)

    for resource in (None, tree("v1", "ConfigMap")):
        patch = patch_of(await response_of(handler, review(), resource))
        assert patch == [{"op": "replace", "path": "/data/k", "value": "w"}]


async def test_patch_of_a_struct_keeps_unknown_fields_and_adds_no_defaults() -> None:
    stored = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"new": 1}}

    def handler(request: AdmissionRequest[Widget]) -> AdmissionResponse:
        assert request.object is not None
        request.object.spec.size = 3
        return mutated(request.object)

    response = await response_of(handler, review(stored, kind="example.com/v1/Widget"), WIDGETS)
    assert apply_operations(stored, patch_of(response)) == {**stored, "spec": {"new": 1, "size": 3}}


async def test_unchanged_object_has_no_patch() -> None:
    for resource in (None, ConfigMap):
        assert "patch" not in await response_of(lambda request: mutated(request.object), review(), resource)


async def test_null_of_go_encoders_is_decoded() -> None:
    def handler(request: AdmissionRequest[Widget]) -> AdmissionResponse:
        assert request.object is not None
        request.object.spec.parts.append("x")
        return mutated(request.object)

    stored = {"metadata": {"name": "a"}, "spec": {"parts": None}}
    response = await response_of(handler, review(stored, kind="example.com/v1/Widget"), WIDGETS)
    assert apply_operations(stored, patch_of(response))["spec"] == {"parts": ["x"]}


async def test_other_kind_than_that_of_the_handler_is_denied() -> None:
    response = await response_of(lambda request: allowed(), review(kind="apps/v1/Deployment"), ConfigMap)
    assert response["allowed"] is False
    assert response["status"]["message"] == "this webhook is for v1 ConfigMap, not apps/v1 Deployment"


async def test_object_that_does_not_fit_its_class_is_denied() -> None:
    response = await response_of(lambda request: allowed(), review({"data": "text"}), ConfigMap)
    assert (response["allowed"], response["status"]["code"]) == (False, 400)
    assert "cannot decode the object" in response["status"]["message"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff",
        b"[]",
        b"{}",
        b"[" * 100_000,
        review(version="v2"),
        review().replace(b"AdmissionReview", b"ConversionReview"),
        review().replace(b"admission.k8s.io", b"example.com"),
        review().replace(b'"uid": "u1"', b'"uid": 1'),
        review(operation="PATCH"),
        review([1]),
        review(None, oldObject="text"),
    ],
)
async def test_body_that_is_no_review_is_an_error(body: bytes) -> None:
    with pytest.raises(ReviewError):
        await AdmissionWebhook(lambda request: allowed(), None, is_mutating=False).review(body)


def test_handler_with_another_signature_is_rejected() -> None:
    def handler() -> AdmissionResponse:
        return allowed()

    with pytest.raises(TypeError, match="a handler of admission requests"):
        AdmissionWebhook(handler, None, is_mutating=False)  # type: ignore[arg-type]
