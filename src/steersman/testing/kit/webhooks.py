"""Address and certificate for the webhook server of an operator under test.

Upstream: ``LocalServingHost``, ``LocalServingPort`` and ``LocalServingCertDir`` of controller-runtime's ``pkg/envtest``.
"""

from __future__ import annotations

import socket
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from steersman.asynckit.clock import RealClock
from steersman.testing.errors import ClusterError

if TYPE_CHECKING:
    from pathlib import Path

_LIFE: Final = timedelta(days=1)
#: Pause between attempts to connect.
_PAUSE_SECONDS: Final = 0.02


class WebhookServing:
    """Address that webhooks of a cluster lead to, with a certificate for it.

    The port is reserved until the end of the cluster: the operator can listen on it, and no other program gets it by chance.
    """

    def __init__(self, directory: Path) -> None:
        """Reserve a port and write ``tls.crt``, ``tls.key`` and ``ca.crt`` to the directory, which is created."""
        from steersman.asynckit.certificates import make_ca, make_server  # noqa: PLC0415 — loads cryptography

        self.host: Final = "127.0.0.1"
        #: Bound and not listening: Linux lets a listener share the port if both have this option, as servers do.
        self._reservation: Final = socket.socket()
        self._reservation.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._reservation.bind((self.host, 0))
        self.port: Final[int] = self._reservation.getsockname()[1]
        #: Directory with ``tls.crt``, ``tls.key`` and ``ca.crt``.
        self.cert_dir: Final = directory
        now = RealClock().now()
        authority = make_ca("webhook-ca", now=now, life=_LIFE)
        pems = make_server("webhook", [self.host, "localhost"], authority, now=now, life=_LIFE)
        #: Authority in PEM.
        self.ca_bundle: Final = authority.certificate
        directory.mkdir(mode=0o700, parents=True)
        for name, content in (("tls.crt", pems.certificate), ("tls.key", pems.key), ("ca.crt", self.ca_bundle)):
            (directory / name).write_bytes(content)

    @property
    def url(self) -> str:
        """URL without a path."""
        return f"https://{self.host}:{self.port}"

    def wait_until_listening(self, *, timeout: float = 60.0) -> None:
        """Wait, in real time, until the operator accepts connections. Raises ``ClusterError``."""
        deadline = time.monotonic() + timeout
        while True:
            try:
                with socket.create_connection((self.host, self.port), timeout=timeout):
                    return
            except OSError as error:
                if time.monotonic() >= deadline:
                    raise ClusterError(
                        f"no webhook server listens at {self.url} after {timeout:g} s: {error}"
                    ) from None
            time.sleep(_PAUSE_SECONDS)

    def close(self) -> None:
        """Release the port. Idempotent."""
        self._reservation.close()
