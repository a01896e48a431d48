from __future__ import annotations

import pytest

from steersman.grpc.errors import Code, RpcError, code_of, code_of_http, code_of_reset


@pytest.mark.parametrize(("status", "code"), [("0", Code.OK), ("14", Code.UNAVAILABLE), ("17", Code.UNKNOWN), ("", 2)])
def test_grpc_status_is_a_code_or_unknown(status, code):
    assert code_of(status) is Code(code)


@pytest.mark.parametrize(("status", "code"), [("503", Code.UNAVAILABLE), ("403", Code.PERMISSION_DENIED), ("200", 2)])
def test_http_status_is_mapped_as_grpc_specifies(status, code):
    assert code_of_http(status) is Code(code)


def test_reset_stream_is_internal_unless_its_code_is_known():
    assert [code_of_reset(code) for code in (1, 7, 8, 11)] == [
        Code.INTERNAL,
        Code.UNAVAILABLE,
        Code.CANCELLED,
        Code.RESOURCE_EXHAUSTED,
    ]


def test_error_shows_code_and_details():
    error = RpcError(Code.NOT_FOUND, "no lease")
    assert (str(error), error.is_unsent) == ("NOT_FOUND: no lease", False)


@pytest.mark.parametrize(
    ("code", "name"),
    [(Code.NOT_FOUND, "NotFound"), (Code.CANCELLED, "Canceled"), (Code.UNAVAILABLE, "Unavailable")],
)
def test_error_has_the_text_of_grpc_go(code, name):
    assert RpcError(code, "reason").go_text == f"rpc error: code = {name} desc = reason"
