"""Messages between a client and the fork server: JSON in packets of a Unix socket (``SOCK_SEQPACKET``), with descriptors.

A connection serves one child: ``Start`` → ``Started`` or ``Refused``; then any number of ``Kill`` → at the end ``Exited``.
"""

from __future__ import annotations

import socket
from typing import Any, Final

import msgspec

#: Maximum size of a packet, including command line and options.
MESSAGE_BYTES_MAX: Final = 128 << 10
DESCRIPTORS_MAX: Final = 8


class Start(msgspec.Struct, tag=True, frozen=True):
    """Request for a child process, with its descriptors."""

    #: Name of a target of the server.
    target: str
    arguments: dict[str, Any] = {}
    #: Removed when the child has ended.
    directory: str = ""


class Kill(msgspec.Struct, tag=True, frozen=True):
    """Signal for the child; ignored after its end."""

    signal: int


class Started(msgspec.Struct, tag=True, frozen=True):
    """The child was started."""

    pid: int


class Refused(msgspec.Struct, tag=True, frozen=True):
    """The child was not started; the message has the reason."""

    reason: str


class Exited(msgspec.Struct, tag=True, frozen=True):
    """The child has ended and its directory is removed."""

    #: Exit code; the negative signal number if a signal ended it.
    code: int


Request = Start | Kill
Reply = Started | Refused | Exited
_requests: Final = msgspec.json.Decoder(Start | Kill)
_replies: Final[msgspec.json.Decoder[Reply]] = msgspec.json.Decoder(Started | Refused | Exited)


class MessageError(ValueError):
    """Packet that cannot be decoded."""


def connection_pair() -> tuple[socket.socket, socket.socket]:
    """Return two connected sockets that preserve message boundaries."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def send(connection: socket.socket, message: Request | Reply, descriptors: list[int] | None = None) -> None:
    """Send one message. Raises ``OSError``, ``MessageError``."""
    packet = msgspec.json.encode(message)
    if len(packet) > MESSAGE_BYTES_MAX:
        raise MessageError(f"a message of {len(packet)} bytes is too long, at most {MESSAGE_BYTES_MAX}")
    socket.send_fds(connection, [packet], descriptors or [])


def receive_request(connection: socket.socket) -> tuple[Request, list[int]] | None:
    """Return the next request and its descriptors; None at the end. Raises ``OSError``, ``MessageError``."""
    packet, descriptors, _, _ = socket.recv_fds(connection, MESSAGE_BYTES_MAX, DESCRIPTORS_MAX)
    if not packet:
        return None
    try:
        return _requests.decode(packet), descriptors
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise MessageError(str(error)) from error


def receive_reply(connection: socket.socket) -> Reply | None:
    """Return the next reply; None at the end. Raises ``OSError``."""
    packet = connection.recv(MESSAGE_BYTES_MAX)
    return _replies.decode(packet) if packet else None
