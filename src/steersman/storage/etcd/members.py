"""Members of an etcd cluster: one channel each, and the choice of the current member.

Promises:

* A request goes to the current member. After a failure the next member becomes current; a failed member is not chosen again
before ``RETRY_SECONDS`` while another one is healthy.
* Channels connect when they are used and reconnect by themselves; an idle connection is probed, to detect a member that
vanished without closing its connections.
* A new connection reads the certificate files, so that they can be renewed.

Upstream: ``clientv3`` with ``--etcd-servers``, staging/src/k8s.io/apiserver/pkg/storage/storagebackend/factory/etcd3.go.
"""

from __future__ import annotations

import logging
import ssl
from pathlib import Path  # noqa: TC003 — the compiler evaluates the fields of structs
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import msgspec

from steersman.grpc.channel import Channel, Target

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.asynckit.clock import Clock

_log = logging.getLogger(__name__)

#: Time for which a failed member is skipped.
RETRY_SECONDS: Final = 1.0


class MemberTLS(msgspec.Struct, frozen=True, kw_only=True):
    """Files for connections over TLS; None: the system's authorities, no client certificate."""

    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None

    def context(self) -> ssl.SSLContext:
        """Read the files. Raises ``OSError`` that names them, ``ValueError`` for a key without a certificate."""
        if self.key_file is not None and self.cert_file is None:
            raise ValueError("a key needs its certificate")
        try:
            context = ssl.create_default_context(cafile=self.ca_file)
        except OSError as error:
            raise OSError(f"{self.ca_file}: {error}") from error
        context.set_alpn_protocols(["h2"])
        if self.cert_file is not None:
            try:
                context.load_cert_chain(self.cert_file, self.key_file)
            except OSError as error:
                raise OSError(f"{self.cert_file}, {self.key_file or self.cert_file}: {error}") from error
        return context


class RenewedContext:
    """Context of ``MemberTLS`` for the next connection, read again when a file has changed."""

    def __init__(self, tls: MemberTLS) -> None:
        """Read the files. Raises as ``MemberTLS.context``."""
        self._tls = tls
        self._files = [path for path in (tls.ca_file, tls.cert_file, tls.key_file) if path is not None]
        self._stamps = list(map(_stamp, self._files))
        self._context = tls.context()

    def current(self) -> ssl.SSLContext:
        """Return the context; the previous one while the files are invalid, e.g. if only one of a pair is written."""
        stamps = list(map(_stamp, self._files))
        if stamps != self._stamps:
            try:
                self._context, self._stamps = self._tls.context(), stamps
            except (OSError, ValueError) as error:
                _log.warning("the certificates for etcd cannot be read again: %s", error)
        return self._context


def _stamp(path: Path) -> tuple[int, int]:
    """Return a fingerprint of a file's metadata, which changes with its contents; zeros for an unreadable file."""
    try:
        state = path.stat()
    except OSError:
        return 0, 0
    return state.st_mtime_ns, state.st_ino


def target_of(url: str) -> tuple[Target, bool]:
    """Return address and use of TLS for a member's URL. Raises ``ValueError``."""
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if parts.scheme in ("unix", "unixs"):
        return Target(path=f"{parts.netloc}{parts.path}"), parts.scheme == "unixs"
    if parts.scheme not in ("http", "https"):
        raise ValueError(f"{url}: the scheme must be http, https or unix")
    if not parts.hostname:
        raise ValueError(f"{url}: has no host")
    if parts.path not in ("", "/"):
        raise ValueError(f"{url}: a member has no path")
    return Target(parts.hostname, parts.port or 2379), parts.scheme == "https"


class Member:
    """One member and its channel."""

    __slots__ = ("channel", "failed_until", "url")

    def __init__(self, url: str, channel: Channel) -> None:
        self.url = url
        self.channel = channel
        #: Monotonic time until which the member is skipped.
        self.failed_until = 0.0


class Members:
    """Members of a cluster; see the module for the promises."""

    def __init__(self, urls: Sequence[str], *, tls: MemberTLS, clock: Clock) -> None:
        """Raise ``ValueError`` for an invalid URL, ``OSError`` for an unreadable file."""
        if not urls:
            raise ValueError("etcd needs at least one server")
        self._clock = clock
        context: RenewedContext | None = None
        members = []
        for url in urls:
            target, is_secure = target_of(url)
            if is_secure and context is None:
                context = RenewedContext(tls)
            channel = Channel(target, clock=clock, tls=context.current if is_secure and context else None)
            members.append(Member(url, channel))
        self.all: Final[tuple[Member, ...]] = tuple(members)
        self._current = 0

    @property
    def current(self) -> Member:
        """Current member."""
        return self.all[self._current]

    def failed(self, member: Member) -> None:
        """Skip ``member`` for a time; if it is current, choose the next."""
        now = self._clock.monotonic()
        member.failed_until = now + RETRY_SECONDS
        if member is not self.all[self._current]:
            return
        for step in range(1, len(self.all)):
            candidate = (self._current + step) % len(self.all)
            if self.all[candidate].failed_until <= now:
                self._current = candidate
                return
        self._current = min(range(len(self.all)), key=lambda index: self.all[index].failed_until)

    async def close(self) -> None:
        """Close all channels; requests in flight fail."""
        for member in self.all:
            await member.channel.close()
