"""HPACK header blocks of one connection, with caches of repeated blocks.

A block of only indexed fields depends on the dynamic table without changing it, so its encoding or decoding is reused until
another block changes the table. After the first call of a method all of its blocks are of this form.
"""

from __future__ import annotations

from typing import Any, Final

from hpack import Decoder, Encoder, HPACKError

#: Maximum number of cached decoded blocks.
_CACHED_MAX: Final = 256
#: Maximum size of a decoded block, in the order of magnitude of curl's and Go's.
_LIST_BYTES_MAX: Final = 64 * 1024

Headers = dict[str, str]


class Method:
    """A method of a service, with the headers of its calls."""

    def __init__(self, path: str, *, scheme: str, authority: str, extra: tuple[tuple[str, str], ...] = ()) -> None:
        self.path: Final = path
        self.headers: Final = (
            (":method", "POST"),
            (":scheme", scheme),
            (":path", path),
            (":authority", authority),
            ("te", "trailers"),
            ("content-type", "application/grpc"),
            *extra,
        )


class HeaderError(ValueError):
    """A header block cannot be decoded: the connection is unusable (RFC 9113, section 4.3)."""


def is_indexed(block: bytes) -> bool:
    """Report whether a block consists of indexed fields of one byte each."""
    return all(0x80 < octet < 0xFF for octet in block)


class HeaderBlocks:
    """Encoder and decoder of one connection."""

    def __init__(self) -> None:
        self._encoder = Encoder()
        self._decoder = Decoder(max_header_list_size=_LIST_BYTES_MAX)
        self._encoded: dict[Method, bytes] = {}
        self._decoded: dict[bytes, Headers] = {}

    def set_table_size(self, size: int) -> None:
        """Use a table of at most ``size`` bytes for encoding, as the peer's settings permit."""
        self._encoder.header_table_size = min(size, 4096)
        self._encoded.clear()

    def encode(self, method: Method) -> bytes:
        """Return the headers of a call, which must be sent in order: they change the peer's table."""
        block = self._encoded.get(method)
        if block is None:
            block = bytes(self._encoder.encode(method.headers))
            if is_indexed(block):
                self._encoded[method] = block
            else:
                self._encoded.clear()
        return block

    def decode(self, block: bytes) -> Headers:
        """Return the fields of a block. Raises ``HeaderError``."""
        headers = self._decoded.get(block)
        if headers is None:
            try:
                fields: Any = self._decoder.decode(block)  # texts, although the package declares bytes as well
                headers = {str(name): str(value) for name, value in fields}
            except HPACKError as error:
                raise HeaderError(f"invalid header block: {type(error).__name__}") from error
            if not is_indexed(block) or len(self._decoded) >= _CACHED_MAX:
                self._decoded.clear()
            else:
                self._decoded[block] = headers
        return headers
