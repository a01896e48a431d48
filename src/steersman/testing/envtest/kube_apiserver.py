"""Program in place of ``kube-apiserver``: runs the API server in a process of its etcd's fork server, and ends with it.

Run by its path without site packages, with kube-apiserver's flags. SIGTERM and SIGINT are passed on; the API server's
exit code is this program's.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from urllib.parse import urlsplit

_PACKET_BYTES_MAX = 128 << 10
_SECONDS = 10.0


class StartError(RuntimeError):
    """The API server cannot be started; the message has the reason."""


def etcd_url(arguments: list[str]) -> str:
    """Return the first URL of the last ``--etcd-servers``. Raises ``StartError``."""
    urls = ""
    for index, word in enumerate(arguments):
        name, is_joined, value = word.partition("=")
        if name == "--etcd-servers":
            urls = value if is_joined else "".join(arguments[index + 1 : index + 2])
    if not urls:
        raise StartError("--etcd-servers must be specified")
    return urls.split(",")[0]


def directory_of(url: str) -> str:
    """Return the directory of the fork server of an etcd. Raises ``StartError``."""
    refusal = f"--etcd-servers: {url} is not the etcd of `steersman envtest`"
    parts = urlsplit(url)
    try:
        with socket.create_connection((parts.hostname or "", parts.port or 2379), _SECONDS) as connection:
            connection.sendall(b"GET /steersman HTTP/1.1\r\nHost: etcd\r\nConnection: close\r\n\r\n")
            response = b""
            while chunk := connection.recv(8192):
                response += chunk
    except OSError as error:
        raise StartError(f"{refusal}: {error.strerror or error}") from error
    head, _, body = response.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise StartError(refusal)
    try:
        return str(json.loads(body)["directory"])
    except (ValueError, KeyError, TypeError) as error:
        raise StartError(refusal) from error


def connect(directory: str) -> socket.socket:
    """Connect to the fork server, which may still be importing. Raises ``OSError``."""
    folder = os.open(directory, os.O_PATH | os.O_DIRECTORY)
    try:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        connection.connect(f"/proc/self/fd/{folder}/forkserver.sock")
    finally:
        os.close(folder)
    return connection


def run(connection: socket.socket, arguments: list[str]) -> int:
    """Run the API server; return its exit code, as a shell reports it. Raises ``OSError``, ``StartError``.

    Messages: ``steersman.testing.forkserver.messages``.
    """
    request = {
        "type": "Start",
        "target": "kube-apiserver",
        "arguments": {"arguments": arguments, "directory": os.getcwd()},  # noqa: PTH109 — as in ``etcd``
    }

    def pass_on(number: int, _frame: object) -> None:
        connection.send(json.dumps({"type": "Kill", "signal": number}).encode())

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, pass_on)
    socket.send_fds(connection, [json.dumps(request).encode()], [0, 1, 2])
    while packet := connection.recv(_PACKET_BYTES_MAX):
        reply = json.loads(packet)
        if reply["type"] == "Refused":
            raise StartError(reply["reason"])
        if reply["type"] == "Exited":
            return int(reply["code"]) if reply["code"] >= 0 else 128 - int(reply["code"])
    raise StartError("etcd has ended")


def main(arguments: list[str]) -> int:
    """Return the exit code."""
    try:
        return run(connect(directory_of(etcd_url(arguments))), arguments)
    except (StartError, OSError) as error:
        sys.stderr.write(f"kube-apiserver: {error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
