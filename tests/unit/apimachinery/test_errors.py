"""Status errors of the constructors, and predicates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from steersman.apimachinery import errors, field
from steersman.apimachinery.errors import StatusError

if TYPE_CHECKING:
    from collections.abc import Callable


def test_not_found_has_a_complete_status() -> None:
    assert errors.not_found("deployments.apps", "a").status == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'deployments.apps "a" not found',
        "reason": "NotFound",
        "details": {"name": "a", "group": "apps", "kind": "deployments"},
        "code": 404,
    }


def test_group_resource_accepts_dots_in_the_group() -> None:
    assert errors.not_found("leases.coordination.k8s.io", "a").details["group"] == "coordination.k8s.io"


@pytest.mark.parametrize(
    ("error", "code", "reason", "message"),
    [
        (errors.bad_request("why"), 400, "BadRequest", "why"),
        (errors.unauthorized(), 401, "Unauthorized", "not authorized"),
        (errors.forbidden("", "", 'User "a" cannot'), 403, "Forbidden", 'forbidden: User "a" cannot'),
        (errors.forbidden("pods", "", "no"), 403, "Forbidden", "pods is forbidden: no"),
        (errors.forbidden("pods", "a", "no"), 403, "Forbidden", 'pods "a" is forbidden: no'),
        (errors.path_not_found(), 404, "NotFound", "the server could not find the requested resource"),
        (
            errors.method_not_supported("pods", "create"),
            405,
            "MethodNotAllowed",
            'create is not supported on resources of kind "pods"',
        ),
        (
            errors.method_not_allowed(),
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        ),
        (
            errors.not_acceptable(["a/b", "c/d"]),
            406,
            "NotAcceptable",
            "only the following media types are accepted: a/b, c/d",
        ),
        (
            errors.unsupported_media_type(["a/b", "c/d"]),
            415,
            "UnsupportedMediaType",
            "the body of the request was in an unknown format - accepted media types include: a/b, c/d",
        ),
        (errors.already_exists("pods", "a"), 409, "AlreadyExists", 'pods "a" already exists'),
        (
            errors.conflict("pods", "a"),
            409,
            "Conflict",
            'Operation cannot be fulfilled on pods "a": the object has been modified; please apply your changes to the latest version and try again',
        ),
        (errors.gone("why"), 410, "Gone", "why"),
        (errors.resource_expired("too old"), 410, "Expired", "too old"),
        (
            errors.request_entity_too_large("limit is 3145728"),
            413,
            "RequestEntityTooLarge",
            "Request entity too large: limit is 3145728",
        ),
        (errors.too_many_requests("later"), 429, "TooManyRequests", "later"),
        (errors.internal_error("why"), 500, "InternalError", "Internal error occurred: why"),
        (
            errors.server_timeout("pods", "list"),
            500,
            "ServerTimeout",
            "The list operation against pods could not be completed at this time, please try again.",
        ),
        (errors.plain_error("why"), 500, "", "why"),
        (errors.service_unavailable("why"), 503, "ServiceUnavailable", "why"),
        (errors.timeout("slow"), 504, "Timeout", "Timeout: slow"),
        (
            errors.too_large_resource_version(9, 3),
            504,
            "Timeout",
            "Timeout: Too large resource version: 9, current: 3",
        ),
    ],
)
def test_constructors_set_code_reason_and_message(error: StatusError, code: int, reason: str, message: str) -> None:
    assert (error.code, error.reason, error.message) == (code, reason, message)
    assert str(error) == message


def test_invalid_with_one_error_has_its_message() -> None:
    error = errors.invalid("ConfigMap", "a", [field.required("metadata.name")])
    assert error.message == 'ConfigMap "a" is invalid: metadata.name: Required value'


def test_invalid_lists_errors_and_causes() -> None:
    error = errors.invalid(
        "Deployment.apps", "a", [field.required("x"), field.invalid("y", 1, "no"), field.required("x")]
    )
    assert error.message == 'Deployment.apps "a" is invalid: [x: Required value, y: Invalid value: 1: no]'
    assert error.details["kind"] == "Deployment"
    assert error.details["group"] == "apps"
    assert [cause["field"] for cause in error.causes] == ["x", "y", "x"]


def test_invalid_accepts_an_empty_kind() -> None:
    error = errors.invalid("", "", [field.invalid("patch", "{}", "why")])
    assert error.message == ' "" is invalid: patch: Invalid value: "{}": why'
    assert set(error.details) == {"causes"}


def test_too_many_requests_sets_details_and_header() -> None:
    error = errors.too_many_requests("later", retry_after_seconds=7)
    assert error.details == {"retryAfterSeconds": 7}
    assert error.headers == {"Retry-After": "7"}
    assert error.retry_after_seconds == 7


def test_failure_has_empty_details() -> None:
    assert errors.generic_server_response(422).status["details"] == {}
    assert "details" not in errors.bad_request("x").status


def test_generic_server_response_names_the_request() -> None:
    error = errors.generic_server_response(409, verb="POST", group_resource="deployments.apps", name="a")
    assert error.reason == "AlreadyExists"
    assert error.message == "the server reported a conflict (post deployments.apps a)"


def test_generic_server_response_of_an_unknown_code() -> None:
    assert errors.generic_server_response(599, server_message="x").message == (
        'an error on the server ("x") has prevented the request from succeeding'
    )
    assert errors.generic_server_response(302).message == (
        "the server responded with the status code 302 but did not return more information"
    )


@pytest.mark.parametrize(
    ("error", "predicate"),
    [
        (errors.not_found("pods", "a"), errors.is_not_found),
        (errors.already_exists("pods", "a"), errors.is_already_exists),
        (errors.conflict("pods", "a"), errors.is_conflict),
        (errors.invalid("Pod", "a", []), errors.is_invalid),
        (errors.gone("x"), errors.is_gone),
        (errors.resource_expired("x"), errors.is_resource_expired),
        (errors.not_acceptable([]), errors.is_not_acceptable),
        (errors.unsupported_media_type([]), errors.is_unsupported_media_type),
        (errors.method_not_allowed(), errors.is_method_not_supported),
        (errors.service_unavailable("x"), errors.is_service_unavailable),
        (errors.bad_request("x"), errors.is_bad_request),
        (errors.unauthorized(), errors.is_unauthorized),
        (errors.forbidden("", "", "x"), errors.is_forbidden),
        (errors.timeout("x"), errors.is_timeout),
        (errors.server_timeout("pods", "x"), errors.is_server_timeout),
        (errors.internal_error("x"), errors.is_internal_error),
        (errors.too_many_requests("x"), errors.is_too_many_requests),
        (errors.request_entity_too_large("x"), errors.is_request_entity_too_large),
    ],
)
def test_predicates_match_their_reason_only(
    error: StatusError, predicate: Callable[[BaseException | None], bool]
) -> None:
    assert predicate(error)
    assert not predicate(errors.failure(418, errors.Reason.UNKNOWN, "teapot"))
    assert not predicate(ValueError("x"))
    assert not predicate(None)


def test_predicates_match_an_unknown_reason_by_code() -> None:
    error = StatusError({"reason": "Nothing", "code": 404})
    assert errors.is_not_found(error)
    assert not errors.is_not_found(StatusError({"reason": "Gone", "code": 404}))


def test_has_cause_matches_by_reason() -> None:
    assert errors.has_cause(errors.too_large_resource_version(9, 3), errors.CAUSE_RESOURCE_VERSION_TOO_LARGE)
    assert not errors.has_cause(errors.bad_request("x"), errors.CAUSE_RESOURCE_VERSION_TOO_LARGE)


def test_is_namespace_terminating_matches_the_cause():
    causes = [{"reason": errors.CAUSE_NAMESPACE_TERMINATING, "field": "metadata.namespace"}]
    assert errors.is_namespace_terminating(StatusError({"code": 403, "details": {"causes": causes}}))
    assert not errors.is_namespace_terminating(StatusError({"code": 403, "message": "it is being terminated"}))
    assert not errors.is_namespace_terminating(None)


def test_add_headers_keeps_existing_headers():
    error = errors.too_many_requests("no", retry_after_seconds=3)
    error.add_headers([(b"x-a", b"1")])
    assert error.headers == {"Retry-After": "3", "x-a": "1"}


def test_invalid_bounds_causes_that_show_large_values() -> None:
    value = ["x" * 1000] * 1000
    error = errors.invalid(
        "ResourceQuota", "q", [field.invalid("spec.scopes", value, "unsupported scope") for _ in range(1000)]
    )
    assert len(error.status["details"]["causes"]) == 4
    assert error.status["message"].endswith(", and 996 more errors]")
