from __future__ import annotations

import pytest

from steersman.grpc.errors import Code, RpcError
from steersman.storage.etcd.errors import is_passing, store_error
from steersman.storage.store import LeaseNotFound, StoreError, TooLarge, Unavailable

error = RpcError


@pytest.mark.parametrize(
    ("code", "text", "expected"),
    [
        (Code.NOT_FOUND, "etcdserver: requested lease not found", LeaseNotFound),
        (Code.INVALID_ARGUMENT, "etcdserver: request is too large", TooLarge),
        (Code.RESOURCE_EXHAUSTED, "grpc: received message larger than max (1 vs. 2)", TooLarge),
        (Code.INVALID_ARGUMENT, "etcdserver: too many operations in txn request", StoreError),
        (Code.RESOURCE_EXHAUSTED, "etcdserver: mvcc: database space exceeded", Unavailable),
        (Code.UNAVAILABLE, "Socket closed", Unavailable),
        (Code.DEADLINE_EXCEEDED, "Deadline Exceeded", Unavailable),
    ],
)
def test_error_of_etcd_is_an_exception_of_the_store(code, text, expected):
    assert type(store_error(error(code, text))) is expected


def test_reads_are_repeated_after_passing_errors_only():
    assert is_passing(error(Code.UNAVAILABLE, "Socket closed"))
    assert is_passing(error(Code.UNKNOWN, "etcdserver: leader changed"))
    assert not is_passing(error(Code.OUT_OF_RANGE, "etcdserver: mvcc: required revision has been compacted"))
