"""Download of small documents by HTTPS, off the event loop."""

from __future__ import annotations

import asyncio
import ssl
import urllib.error
import urllib.request
from typing import Final

_TIMEOUT_SECONDS: Final = 10.0
_BYTES_MAX: Final = 1024 * 1024


class HTTPSFetcher:
    """HTTPS client that trusts the authorities of a PEM text, or the system's if it is empty. Raises ``ssl.SSLError``."""

    def __init__(self, authorities: str) -> None:
        self._tls: Final = ssl.create_default_context(cadata=authorities or None)

    async def fetch(self, url: str, *, token: str = "") -> bytes:
        """Return the document. ``token``: bearer token of the request, which redirects do not have. Raises ``OSError``, also for URLs that are not HTTPS and for more than 1 MB."""
        return await asyncio.to_thread(self._get, url, token)

    def _get(self, url: str, token: str) -> bytes:
        if not url.startswith("https://"):
            raise OSError(f"{url} is no https URL")
        request = urllib.request.Request(url)  # noqa: S310 — checked
        if token:
            request.add_unredirected_header("Authorization", f"Bearer {token}")
        try:
            answer = urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS, context=self._tls)  # noqa: S310 — checked
        except urllib.error.HTTPError as error:
            error.close()  # closes the connection, which would stay open as long as the error
            raise
        with answer:
            if not answer.geturl().startswith("https://"):
                raise OSError(f"{url} leads away from https")
            body: bytes = answer.read(_BYTES_MAX + 1)
        if len(body) > _BYTES_MAX:
            raise OSError(f"{url} is too long")
        return body
