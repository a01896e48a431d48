from __future__ import annotations

import grpc
import pytest
from grpc import aio

from steersman.storage.etcd.errors import is_passing, is_unsent, store_error
from steersman.storage.store import LeaseNotFound, StoreError, TooLarge, Unavailable


def error(code, text):
    return aio.AioRpcError(code, aio.Metadata(), aio.Metadata(), text)


@pytest.mark.parametrize(
    ("code", "text", "expected"),
    [
        (grpc.StatusCode.NOT_FOUND, "etcdserver: requested lease not found", LeaseNotFound),
        (grpc.StatusCode.INVALID_ARGUMENT, "etcdserver: request is too large", TooLarge),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, "grpc: received message larger than max (1 vs. 2)", TooLarge),
        (grpc.StatusCode.INVALID_ARGUMENT, "etcdserver: too many operations in txn request", StoreError),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, "etcdserver: mvcc: database space exceeded", Unavailable),
        (grpc.StatusCode.UNAVAILABLE, "Socket closed", Unavailable),
        (grpc.StatusCode.DEADLINE_EXCEEDED, "Deadline Exceeded", Unavailable),
    ],
)
def test_error_of_etcd_is_an_exception_of_the_store(code, text, expected):
    assert type(store_error(error(code, text))) is expected


def test_only_a_failed_connection_shows_that_a_write_was_not_sent():
    assert is_unsent(error(grpc.StatusCode.UNAVAILABLE, "failed to connect to all addresses; last error: …"))
    assert not is_unsent(error(grpc.StatusCode.UNAVAILABLE, "Socket closed"))
    assert not is_unsent(error(grpc.StatusCode.DEADLINE_EXCEEDED, "failed to connect to all addresses"))


def test_reads_are_repeated_after_passing_errors_only():
    assert is_passing(error(grpc.StatusCode.UNAVAILABLE, "Socket closed"))
    assert is_passing(error(grpc.StatusCode.UNKNOWN, "etcdserver: leader changed"))
    assert not is_passing(error(grpc.StatusCode.OUT_OF_RANGE, "etcdserver: mvcc: required revision has been compacted"))
