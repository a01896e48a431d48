"""gRPC errors of etcd as the store's exceptions.

Texts: etcd's ``api/v3rpc/rpctypes/error.go``. An error's code alone does not say what happened, so texts are compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import grpc

from steersman.storage.store import LeaseNotFound, StoreError, TooLarge, Unavailable

if TYPE_CHECKING:
    from grpc import aio

COMPACTED: Final = "etcdserver: mvcc: required revision has been compacted"
FUTURE_REVISION: Final = "etcdserver: mvcc: required revision is a future revision"
NO_SPACE: Final = "etcdserver: mvcc: database space exceeded"
TOO_LARGE: Final = "etcdserver: request is too large"
LEASE_NOT_FOUND: Final = "etcdserver: requested lease not found"
LEASE_EXISTS: Final = "etcdserver: lease already exists"

#: Beginnings of the texts of requests that never left this process: another member may be asked.
_NOT_SENT: Final = (
    "failed to connect to all addresses",
    "connections to all backends failing",
    "DNS resolution failed",
)
#: Texts of reads that another member, or the same one a moment later, can answer.
_PASSING: Final = (
    "etcdserver: leader changed",
    "etcdserver: no leader",
    "etcdserver: not leader",
    "etcdserver: request timed out",
    "etcdserver: server stopped",
    "etcdserver: too many requests",
    "etcdserver: rpc not supported for learner",
)


def text_of(error: aio.AioRpcError) -> str:
    """Return the message of an error."""
    return error.details() or str(error.code().name)


def is_unsent(error: aio.AioRpcError) -> bool:
    """True if the request was not sent, so that also a write may be repeated."""
    return error.code() is grpc.StatusCode.UNAVAILABLE and text_of(error).startswith(_NOT_SENT)


def is_passing(error: aio.AioRpcError) -> bool:
    """True if a read may succeed on another member."""
    passing = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED)
    return error.code() in passing or text_of(error).startswith(_PASSING)


def store_error(error: aio.AioRpcError) -> StoreError:
    """Return the store's exception. Errors about revisions are the caller's to recognise first."""
    text = text_of(error)
    if text == LEASE_NOT_FOUND:
        return LeaseNotFound(text)
    if text == TOO_LARGE or "received message larger than max" in text:
        return TooLarge(TOO_LARGE)
    if error.code() is grpc.StatusCode.INVALID_ARGUMENT or text == LEASE_EXISTS:
        return StoreError(text)
    return Unavailable(text)
