"""After an answer was lost the object itself is asked, more than once, and not for ever."""

from __future__ import annotations

import asyncio

import pytest

from steersman.asynckit.clock import FakeClock
from steersman.client.errors import ClientError, Conflict, RequestFailed, ServiceUnavailable, from_status
from steersman.scheduler.looking import is_refusal, look


def refusal(code: int, reason: str) -> ClientError:
    return from_status({"kind": "Status", "status": "Failure", "code": code, "reason": reason})


NO = RequestFailed("connection lost")


@pytest.mark.parametrize(
    ("error", "expected"),
    [(NO, False), (refusal(409, "Conflict"), True), (refusal(503, "ServiceUnavailable"), False)],
)
def test_what_the_server_refused_had_no_effect(error: ClientError, *, expected: bool) -> None:
    assert is_refusal(error) is expected


@pytest.mark.parametrize(
    ("answers", "found", "asked"),
    [
        (["it"], "it", 1),
        ([NO, refusal(503, "ServiceUnavailable"), "it"], "it", 3),
        ([refusal(404, "NotFound")], None, 1),
        ([NO] * 9, None, 5),
    ],
)
async def test_an_object_is_asked_until_it_answers(
    answers: list[str | ClientError], found: str | None, asked: int
) -> None:
    clock, left = FakeClock(), list(answers)

    async def read() -> str:
        answer = left.pop(0)
        if isinstance(answer, ClientError):
            raise answer
        return answer

    looking = asyncio.create_task(look(read, clock=clock))
    while not looking.done():
        await clock.advance(0.1)
    assert looking.result() == found
    assert len(answers) - len(left) == asked


def test_the_errors_are_what_they_seem() -> None:
    assert isinstance(refusal(409, "Conflict"), Conflict)
    assert isinstance(refusal(503, "ServiceUnavailable"), ServiceUnavailable)
