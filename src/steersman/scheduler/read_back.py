"""Read-back of objects after a write whose response was lost: resources stay reserved until the outcome is certain."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from steersman.client.errors import ApiError, ClientError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import TypeVar

    from steersman.asynckit.clock import Clock

    T = TypeVar("T")

#: Delays before the retries.
_WAITS_SECONDS: Final = (0.1, 0.3, 1.0, 3.0)


def is_rejected(error: ClientError) -> bool:
    """Report whether a request certainly had no effect."""
    return isinstance(error, ApiError) and error.code < HTTPStatus.INTERNAL_SERVER_ERROR


async def read_back(read: Callable[[], Awaitable[T]], *, clock: Clock) -> T | None:
    """Return the object as stored; None if it is gone or the server does not respond within some seconds."""
    for seconds in (0.0, *_WAITS_SECONDS):
        await clock.sleep(seconds)
        try:
            return await read()
        except ClientError as error:
            if is_rejected(error):
                return None
    return None
