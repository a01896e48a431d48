"""TLS contexts of a listener, chosen by the server name that a client sends (SNI).

Upstream: ``DynamicServingCertificateController`` and Go's ``tls.Config.getCertificate``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping


class ServerContexts:
    """A default context, and those of some server names; a name is lower case and may begin with a label ``*``."""

    def __init__(
        self,
        default: ssl.SSLContext,
        *,
        named: Mapping[str, ssl.SSLContext] | None = None,
        valid_for: Mapping[str, ssl.SSLContext] | None = None,
        address: str = "",
    ) -> None:
        """``valid_for``: contexts by the names in their certificates, for names that are not in ``named``. ``address``: local
        IP address of all connections, the name for clients that send none; empty if it varies.
        """
        self.default: Final = default
        self._named: Final = named or {}
        self._valid_for: Final = valid_for or {}
        self._address: Final = address

    def context_for(self, server_name: str | None) -> ssl.SSLContext:
        """Return the context for a client that sends ``server_name``; None if it sends none."""
        if not server_name:
            return self._named.get(self._address, self.default)
        name = server_name.lower()
        pattern = ".".join(["*", *name.split(".")[1:]])
        for contexts in (self._named, self._valid_for):
            context = contexts.get(name) or contexts.get(pattern)
            if context is not None:
                return context
        return self.default


class ServerTLS:
    """TLS of a listener whose contexts can be replaced while it listens. Open connections are unaffected.

    The listener's own context only begins handshakes. Later contexts must ask for client certificates if it does: their
    authorities apply.
    """

    def __init__(self, contexts: ServerContexts) -> None:
        self._contexts = contexts
        #: Context to listen with.
        self.context: Final = contexts.default
        self.context.sni_callback = self._select

    def replace(self, contexts: ServerContexts) -> None:
        """Use other contexts for new connections."""
        self._contexts = contexts

    def _select(self, tls: Any, server_name: str | None, _: ssl.SSLContext) -> None:
        """Set the context of a connection; called in its handshake, also for clients that send no name."""
        context = self._contexts.context_for(server_name)
        if context is not self.context:
            tls.context = context
