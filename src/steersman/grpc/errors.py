"""Status codes and errors of gRPC calls."""

from __future__ import annotations

from enum import IntEnum
from typing import Final


class Code(IntEnum):
    """Status codes, by gRPC's ``doc/statuscodes.md``."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


class RpcError(Exception):
    """A call failed, at the server or in transit."""

    def __init__(self, code: Code, details: str, *, is_unsent: bool = False) -> None:
        super().__init__(f"{code.name}: {details}")
        self.code = code
        self.details = details
        #: True if the server has not processed the request, so that a retry is safe.
        self.is_unsent = is_unsent

    @property
    def go_name(self) -> str:
        """Name of the code in grpc-go: ``NotFound``."""
        return "Canceled" if self.code is Code.CANCELLED else self.code.name.title().replace("_", "")

    @property
    def go_text(self) -> str:
        """Text of the error in grpc-go: ``rpc error: code = NotFound desc = …``."""
        return f"rpc error: code = {self.go_name} desc = {self.details}"


#: Codes for responses without ``grpc-status``: gRPC's ``doc/http-grpc-status-mapping.md``.
_CODE_OF_HTTP: Final = {
    "400": Code.INTERNAL,
    "401": Code.UNAUTHENTICATED,
    "403": Code.PERMISSION_DENIED,
    "404": Code.UNIMPLEMENTED,
    "429": Code.UNAVAILABLE,
    "502": Code.UNAVAILABLE,
    "503": Code.UNAVAILABLE,
    "504": Code.UNAVAILABLE,
}


def code_of_http(status: str) -> Code:
    """Return the code for an HTTP status."""
    return _CODE_OF_HTTP.get(status, Code.UNKNOWN)


#: Codes for streams that the server reset, by HTTP/2's error code; others are INTERNAL.
_CODE_OF_RESET: Final = {
    7: Code.UNAVAILABLE,  # REFUSED_STREAM
    8: Code.CANCELLED,  # CANCEL
    11: Code.RESOURCE_EXHAUSTED,  # ENHANCE_YOUR_CALM
    12: Code.PERMISSION_DENIED,  # INADEQUATE_SECURITY
}
REFUSED_STREAM: Final = 7


def code_of_reset(error_code: int) -> Code:
    """Return the code for a stream that was reset."""
    return _CODE_OF_RESET.get(error_code, Code.INTERNAL)


def code_of(status: str) -> Code:
    """Return the code for a value of ``grpc-status``."""
    try:
        return Code(int(status))
    except ValueError:
        return Code.UNKNOWN
