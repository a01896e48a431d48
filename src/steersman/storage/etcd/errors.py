"""Errors of etcd's gRPC API as the store's exceptions.

Texts: etcd's ``api/v3rpc/rpctypes/error.go``. The code of an error is ambiguous, so texts are compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.grpc.errors import Code
from steersman.storage.store import LeaseNotFound, StoreError, TooLarge, Unavailable

if TYPE_CHECKING:
    from steersman.grpc.errors import RpcError

COMPACTED: Final = "etcdserver: mvcc: required revision has been compacted"
FUTURE_REVISION: Final = "etcdserver: mvcc: required revision is a future revision"
TOO_LARGE: Final = "etcdserver: request is too large"
LEASE_NOT_FOUND: Final = "etcdserver: requested lease not found"
LEASE_EXISTS: Final = "etcdserver: lease already exists"

#: Texts of errors of reads that may succeed on another member, or later on the same.
_PASSING: Final = (
    "etcdserver: leader changed",
    "etcdserver: no leader",
    "etcdserver: not leader",
    "etcdserver: request timed out",
    "etcdserver: server stopped",
    "etcdserver: too many requests",
    "etcdserver: rpc not supported for learner",
)


#: Codes of errors of reads that may succeed on another member.
_PASSING_CODES: Final = (Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED, Code.CANCELLED)


def text_of(error: RpcError) -> str:
    """Return the message of an error."""
    return error.details or error.code.name


def is_passing(error: RpcError) -> bool:
    """True if a read may succeed on another member."""
    return error.code in _PASSING_CODES or text_of(error).startswith(_PASSING)


def store_error(error: RpcError) -> StoreError:
    """Return the store's exception. Callers must handle errors about revisions before."""
    text = text_of(error)
    if text == LEASE_NOT_FOUND:
        return LeaseNotFound(text)
    if text == TOO_LARGE or "received message larger than max" in text:
        return TooLarge(TOO_LARGE)
    if error.code is Code.INVALID_ARGUMENT or text == LEASE_EXISTS:
        return StoreError(text)
    return Unavailable(text)
