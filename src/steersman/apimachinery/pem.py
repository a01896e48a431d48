"""PEM blocks of a text as parsed by Go's ``encoding/pem``, in time linear in the text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_BEGIN: Final = b"-----BEGIN "
_END: Final = b"-----END "
_DASHES: Final = b"-----"


class PEMBlock(NamedTuple):
    """One block, not decoded."""

    #: ``CERTIFICATE``
    type: str
    #: Text between the first and the last line.
    body: bytes
    #: Full text with both lines.
    text: bytes


def pem_blocks(data: bytes) -> Iterator[PEMBlock]:
    """Yield the blocks in order. Begin lines without a matching end line are skipped."""
    position, end = 0, -1
    while (begin := _line_start(data, _BEGIN, position)) >= 0:
        line_end = data.find(b"\n", begin)
        if line_end < 0:
            return
        first = data[begin + len(_BEGIN) : line_end].rstrip(b" \t\r")
        position = line_end + 1
        if not first.endswith(_DASHES):
            continue
        if end < position:  # each end line is searched for once
            end = _line_start(data, _END, position)
            if end < 0:
                return
        last = end + len(_END) + len(first)
        if data[end + len(_END) : last] == first and not _rest_of_line(data, last):
            yield PEMBlock(first[: -len(_DASHES)].decode(errors="replace"), data[position:end], data[begin:last])
            position = last


def _line_start(data: bytes, prefix: bytes, position: int) -> int:
    """Return the start of the next line with ``prefix``, -1 without one."""
    if (not position or data[position - 1 : position] == b"\n") and data.startswith(prefix, position):
        return position
    offset = data.find(b"\n" + prefix, position)
    return offset + 1 if offset >= 0 else -1


def _rest_of_line(data: bytes, position: int) -> bytes:
    """Return the stripped rest of the line, at most 128 characters."""
    end = data.find(b"\n", position, position + 128)
    return data[position : end if end >= 0 else position + 128].strip(b" \t\r")
