"""Mapping of responses to exceptions."""

import pytest
from tests.unit.client.scripted import refusal

from steersman.apimachinery.errors import is_conflict, is_not_found
from steersman.client import errors
from steersman.client.transport import Response


@pytest.mark.parametrize(
    ("code", "reason", "expected"),
    [
        (400, "BadRequest", errors.BadRequest),
        (401, "Unauthorized", errors.Unauthorized),
        (403, "Forbidden", errors.Forbidden),
        (404, "NotFound", errors.NotFound),
        (409, "AlreadyExists", errors.AlreadyExists),
        (409, "Conflict", errors.Conflict),
        (410, "Expired", errors.Expired),
        (410, "Gone", errors.Gone),
        (422, "Invalid", errors.Invalid),
        (429, "TooManyRequests", errors.TooManyRequests),
        (500, "ServerTimeout", errors.ServerTimeout),
        (500, "InternalError", errors.InternalError),
        (504, "Timeout", errors.Timeout),
        (409, "", errors.Conflict),
        (418, "Teapot", errors.ApiError),
    ],
)
def test_from_status_selects_the_class_by_reason_then_code(code, reason, expected):
    error = errors.from_response(refusal(code, reason), method="GET")
    assert type(error) is expected
    assert (error.code, str(error)) == (code, "refused")


def test_predicates_match_api_errors():
    assert is_not_found(errors.from_response(refusal(404, "NotFound"), method="GET"))
    assert is_conflict(errors.from_response(refusal(409, "Conflict"), method="PUT"))


def test_expired_is_a_subclass_of_gone():
    assert issubclass(errors.Expired, errors.Gone)


def test_from_response_without_status_has_the_generic_message():
    error = errors.from_response(
        Response(404, {}, b"404 page not found\n"), method="GET", group_resource="widgets.example.com", name="a"
    )
    assert isinstance(error, errors.NotFound)
    assert error.message == "the server could not find the requested resource (get widgets.example.com a)"
    assert error.causes == [{"reason": "UnexpectedServerResponse", "message": "404 page not found"}]


def test_from_response_without_status_keeps_retry_after():
    error = errors.from_response(Response(429, {"retry-after": "3"}, b"slow down"), method="GET")
    assert isinstance(error, errors.TooManyRequests)
    assert error.retry_after_seconds == 3


def test_from_response_adds_retry_after_to_the_status():
    status = refusal(429, "TooManyRequests", headers={"retry-after": "3"})
    assert errors.from_response(status, method="GET").retry_after_seconds == 3
    status = refusal(429, "TooManyRequests", headers={"retry-after": "3"}, retryAfterSeconds=7)
    assert errors.from_response(status, method="GET").retry_after_seconds == 7


@pytest.mark.parametrize(
    ("header", "seconds"), [("2", 2.0), ("", None), ("Wed, 21 Oct 2026 07:28:00 GMT", None), ("-1", None), ("²", None)]
)
def test_retry_after_seconds_accepts_whole_seconds_only(header, seconds):
    assert errors.retry_after_seconds({"retry-after": header}) == seconds


def test_str_of_an_error_without_message_is_its_code():
    assert str(errors.from_status({"code": 418, "reason": "Teapot"})) == "418 Teapot"
