"""From answers to exceptions."""

import pytest
from tests.unit.client.scripted import refusal

from steersman.apimachinery.errors import is_conflict, is_not_found
from steersman.client import errors
from steersman.client.transport import Answer


@pytest.mark.parametrize(
    ("code", "reason", "wanted"),
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
def test_reason_or_else_code_chooses_the_class(code, reason, wanted):
    error = errors.from_answer(refusal(code, reason), method="GET")
    assert type(error) is wanted
    assert (error.code, str(error)) == (code, "refused")


def test_predicates_know_them():
    assert is_not_found(errors.from_answer(refusal(404, "NotFound"), method="GET"))
    assert is_conflict(errors.from_answer(refusal(409, "Conflict"), method="PUT"))


def test_an_expired_version_is_gone_too():
    assert issubclass(errors.Expired, errors.Gone)


def test_an_answer_that_is_no_status_is_told_in_the_words_clients_know():
    error = errors.from_answer(
        Answer(404, {}, b"404 page not found\n"), method="GET", group_resource="widgets.example.com", name="a"
    )
    assert isinstance(error, errors.NotFound)
    assert error.message == "the server could not find the requested resource (get widgets.example.com a)"
    assert error.causes == [{"reason": "UnexpectedServerResponse", "message": "404 page not found"}]


def test_retry_after_is_kept_of_such_an_answer():
    error = errors.from_answer(Answer(429, {"retry-after": "3"}, b"slow down"), method="GET")
    assert isinstance(error, errors.TooManyRequests)
    assert error.retry_after_seconds == 3


def test_a_status_that_does_not_say_when_has_it_from_the_header():
    said = refusal(429, "TooManyRequests", headers={"retry-after": "3"})
    assert errors.from_answer(said, method="GET").retry_after_seconds == 3
    said = refusal(429, "TooManyRequests", headers={"retry-after": "3"}, retryAfterSeconds=7)
    assert errors.from_answer(said, method="GET").retry_after_seconds == 7


@pytest.mark.parametrize(
    ("header", "seconds"), [("2", 2.0), ("", None), ("Wed, 21 Oct 2026 07:28:00 GMT", None), ("-1", None), ("²", None)]
)
def test_retry_after_is_whole_seconds(header, seconds):
    assert errors.retry_after_seconds({"retry-after": header}) == seconds


def test_without_a_message_the_code_speaks():
    assert str(errors.from_status({"code": 418, "reason": "Teapot"})) == "418 Teapot"
