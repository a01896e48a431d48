"""Program in place of ``etcd``: health checks, and the fork server behind ``kube-apiserver``. Stores nothing itself.

``etcd.py ASSETS [FLAGS]``, run by its path without site packages, so that it answers after a few milliseconds. It uses
the flags ``--listen-client-urls`` and ``--data-dir``; all others are accepted without effect.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
from urllib.parse import urlsplit

#: Version of etcd in Kubernetes 1.36.
VERSION = "3.6.8"
_REQUEST_BYTES_MAX = 8192
_CONNECTIONS_MAX = 64
_STOP_SECONDS = 15.0


class FlagError(ValueError):
    """Invalid flag; the message names it."""


def flag_values(arguments: list[str]) -> dict[str, str]:
    """Return the last value of each flag, as ``--name=value`` or ``--name value``."""
    values: dict[str, str] = {}
    words = iter(arguments)
    for word in words:
        name, is_joined, value = word.lstrip("-").partition("=")
        values[name] = value if is_joined else next(words, "")
    return values


def listen(urls: str) -> list[socket.socket]:
    """Return a listening socket for each URL. Raises ``FlagError``, ``OSError``."""
    sockets = []
    for url in urls.split(","):
        parts = urlsplit(url.strip())
        if parts.scheme != "http" or parts.hostname is None:
            raise FlagError(f"--listen-client-urls: {url} is not served, expected http://HOST:PORT")
        sockets.append(socket.create_server((parts.hostname, parts.port or 2379)))
    return sockets


def bind_in(directory: str) -> socket.socket:
    """Return a listening Unix socket ``forkserver.sock`` in a directory, whose path may be long."""
    folder = os.open(directory, os.O_PATH | os.O_DIRECTORY)
    try:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind(f"/proc/self/fd/{folder}/forkserver.sock")
        listener.listen(16)
    finally:
        os.close(folder)
    return listener


def start_fork_server(assets: str, directory: str) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Start the fork server; it ends when the returned socket closes."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs, bind_in(directory) as listener:
        descriptors = [listener.fileno(), theirs.fileno()]
        process = subprocess.Popen(  # noqa: S603 — this package
            [sys.executable, "-m", "steersman.cli.envtest_server", assets, directory, *map(str, descriptors)],
            stdin=subprocess.DEVNULL,
            pass_fds=descriptors,
            start_new_session=True,
        )
    return process, ours


def answer(request: bytes, directory: str) -> bytes:
    """Return the HTTP response to the beginning of a request."""
    path = request.split(b" ", 2)[1:2]
    documents: dict[bytes, object] = {
        b"/health": {"health": "true", "reason": ""},
        b"/version": {"etcdserver": VERSION, "etcdcluster": VERSION.rpartition(".")[0] + ".0", "storage": "3.6.0"},
        b"/steersman": {"directory": directory},
    }
    document = documents.get(path[0].split(b"?")[0]) if path else None
    status, body = ("404 Not Found", b"404 page not found\n")
    if document is not None:
        status, body = "200 OK", json.dumps(document).encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body


class HealthServer:
    """HTTP server for small requests, one for each connection. Connections above the limit wait."""

    def __init__(self, listeners: list[socket.socket], directory: str) -> None:
        self._listeners = {listener.fileno(): listener for listener in listeners}
        self._connections: dict[int, tuple[socket.socket, bytes]] = {}
        self._directory = directory

    def serve_until(self, wakeup: socket.socket, has_ended: list[int]) -> None:
        """Serve until a signal handler adds to ``has_ended``; ``wakeup`` is readable after each signal."""
        while not has_ended:
            listeners = self._listeners if len(self._connections) < _CONNECTIONS_MAX else {}
            for fd in select.select([wakeup.fileno(), *listeners, *self._connections], [], [])[0]:
                if fd == wakeup.fileno():
                    wakeup.recv(_REQUEST_BYTES_MAX)
                elif fd in listeners:
                    connection, _ = listeners[fd].accept()
                    self._connections[connection.fileno()] = (connection, b"")
                elif fd in self._connections:
                    self._receive(fd)

    def _receive(self, fd: int) -> None:
        connection, received = self._connections.pop(fd)
        try:
            chunk = connection.recv(_REQUEST_BYTES_MAX)
            received += chunk
            if chunk and b"\r\n\r\n" not in received and len(received) < _REQUEST_BYTES_MAX:
                self._connections[fd] = (connection, received)
                return
            if chunk:
                connection.sendall(answer(received, self._directory))
        except OSError:
            pass  # the client has closed the connection
        connection.close()


def main(assets: str, arguments: list[str]) -> int:
    """Run until SIGTERM or SIGINT, or until the fork server has ended; return the exit code."""
    values = flag_values(arguments)
    # ``pathlib`` would take longer to import than this program to start.
    directory = os.path.join(os.path.abspath(values.get("data-dir") or "default.etcd"), "steersman")  # noqa: PTH100, PTH118
    try:
        listeners = listen(values.get("listen-client-urls") or "http://localhost:2379")
        os.makedirs(directory, mode=0o700, exist_ok=True)  # noqa: PTH103
        process, connection = start_fork_server(assets, directory)
    except (FlagError, OSError) as error:
        sys.stderr.write(f"etcd: {error}\n")
        return 1
    has_ended: list[int] = []
    wakeup, writer = socket.socketpair()
    writer.setblocking(False)

    def note(number: int, _frame: object) -> None:
        # SIGCHLD is also sent when the fork server is suspended and resumed.
        if number != signal.SIGCHLD or process.poll() is not None:
            has_ended.append(number)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
        signal.signal(number, note)
    signal.set_wakeup_fd(writer.fileno())
    if process.poll() is None:
        HealthServer(listeners, directory).serve_until(wakeup, has_ended)
    code = 0 if process.poll() is None else 1
    connection.close()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
    shutil.rmtree(directory, ignore_errors=True)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
