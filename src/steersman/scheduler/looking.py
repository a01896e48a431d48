"""What became of a write whose answer was lost: what was given away may be another's only when that is known."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from steersman.client.errors import ApiError, ClientError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import TypeVar

    from steersman.asynckit.clock import Clock

    T = TypeVar("T")

#: Waits before an object is looked at again.
_WAITS_SECONDS: Final = (0.1, 0.3, 1.0, 3.0)


def is_refusal(error: ClientError) -> bool:
    """Whether a request certainly had no effect."""
    return isinstance(error, ApiError) and error.code < HTTPStatus.INTERNAL_SERVER_ERROR


async def look(read: Callable[[], Awaitable[T]], *, clock: Clock) -> T | None:
    """The object as it is now; None when it is not there, or nobody answers for some seconds."""
    for seconds in (0.0, *_WAITS_SECONDS):
        await clock.sleep(seconds)
        try:
            return await read()
        except ClientError as error:
            if is_refusal(error):
                return None
    return None
