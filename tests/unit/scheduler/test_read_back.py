"""Read-back of objects after a lost response."""

from __future__ import annotations

import asyncio

import pytest

from steersman.asynckit.clock import FakeClock
from steersman.client.errors import ClientError, Conflict, RequestFailed, ServiceUnavailable, from_status
from steersman.scheduler.read_back import is_rejected, read_back


def refusal(code: int, reason: str) -> ClientError:
    return from_status({"kind": "Status", "status": "Failure", "code": code, "reason": reason})


NO = RequestFailed("connection lost")


@pytest.mark.parametrize(
    ("error", "expected"),
    [(NO, False), (refusal(409, "Conflict"), True), (refusal(503, "ServiceUnavailable"), False)],
)
def test_is_rejected_is_true_for_client_errors_only(error: ClientError, *, expected: bool) -> None:
    assert is_rejected(error) is expected


@pytest.mark.parametrize(
    ("answers", "obj", "requested"),
    [
        (["it"], "it", 1),
        ([NO, refusal(503, "ServiceUnavailable"), "it"], "it", 3),
        ([refusal(404, "NotFound")], None, 1),
        ([NO] * 9, None, 5),
    ],
)
async def test_read_back_retries_until_a_definite_answer(
    answers: list[str | ClientError], obj: str | None, requested: int
) -> None:
    clock, left = FakeClock(), list(answers)

    async def read() -> str:
        answer = left.pop(0)
        if isinstance(answer, ClientError):
            raise answer
        return answer

    task = asyncio.create_task(read_back(read, clock=clock))
    while not task.done():
        await clock.advance(0.1)
    assert task.result() == obj
    assert len(answers) - len(left) == requested


def test_refusals_have_the_expected_error_classes() -> None:
    assert isinstance(refusal(409, "Conflict"), Conflict)
    assert isinstance(refusal(503, "ServiceUnavailable"), ServiceUnavailable)
