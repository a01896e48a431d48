"""Where authenticators find Secrets that hold tokens."""

from __future__ import annotations

from typing import Any, Protocol


class SecretSource(Protocol):
    """Looks up Secrets."""

    async def secret(self, namespace: str, name: str) -> dict[str, Any] | None:
        """The Secret's tree, not to be changed; None when there is none."""
