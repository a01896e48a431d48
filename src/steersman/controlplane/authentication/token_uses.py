"""Recorder of the last use of token Secrets, for the cleaner of unused ones."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.apiserver.authn.legacy_token import last_used_patch

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.server.loopback import Loopback
    from steersman.asynckit.clock import Clock


#: Secrets that wait for their note. More are passed over: their next use is noted.
_PENDING_MAX: Final = 1000
_MERGE: Final = {"content-type": "application/merge-patch+json"}

_log = logging.getLogger(__name__)


class TokenUses:
    """Call ``note`` on authentication, run ``run`` as a task."""

    def __init__(self, *, clock: Clock) -> None:
        self._clock: Final = clock
        #: Patches by the path of the Secret.
        self._pending: Final[dict[str, Tree]] = {}
        self._filled: Final = asyncio.Event()

    def note(self, secret: Tree) -> None:
        """Record a use of the Secret's token now."""
        patch = last_used_patch(secret, self._clock.now())
        if patch is None or len(self._pending) >= _PENDING_MAX:
            return
        metadata = secret["metadata"]
        self._pending[f"/api/v1/namespaces/{metadata['namespace']}/secrets/{metadata['name']}"] = patch
        self._filled.set()

    async def run(self, client: Loopback) -> None:
        """Write recorded uses until cancelled. A failed write is logged, and repeated with the next use."""
        while True:
            await self._filled.wait()
            self._filled.clear()
            while self._pending:
                path = next(iter(self._pending))
                patch = self._pending.pop(path)
                answer = await client.request("PATCH", path, body=msgspec.json.encode(patch), headers=_MERGE)
                if answer.code != 200:
                    _log.warning("the last use of the token in %s cannot be noted: %d", path, answer.code)
