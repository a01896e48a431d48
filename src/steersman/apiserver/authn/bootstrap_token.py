"""``--enable-bootstrap-token-auth``: bootstrap tokens ``<id>.<secret>`` from Secrets in ``kube-system``."""

from __future__ import annotations

import base64
import binascii
import hmac
import re
from datetime import datetime
from typing import TYPE_CHECKING, Final

from steersman.apiserver.authn.interface import review_for_server
from steersman.apiserver.request import UserInfo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.authn.interface import Reviewed, SecretSource
    from steersman.asynckit.clock import Clock


_TOKEN: Final = re.compile(r"([a-z0-9]{6})\.([a-z0-9]{16})")
_GROUP: Final = re.compile(r"system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]")
_NAMESPACE: Final = "kube-system"
_TYPE: Final = "bootstrap.kubernetes.io/token"
_BOOTSTRAPPERS: Final = "system:bootstrappers"


class BootstrapTokens:
    """Token authenticator of bootstrap tokens. Invalid ones are ignored, as other authenticators may accept them."""

    def __init__(self, secrets: SecretSource, *, audiences: Sequence[str], clock: Clock) -> None:
        self._secrets: Final = secrets
        self._audiences: Final = tuple(audiences)
        self._clock: Final = clock

    async def authenticate_token(self, token: str) -> UserInfo | None:
        """Return the user ``system:bootstrap:<id>``, or None."""
        parts = _TOKEN.fullmatch(token)
        if parts is None:
            return None
        name, secret = parts.groups()
        tree = await self._secrets.secret(_NAMESPACE, f"bootstrap-token-{name}")
        if tree is None or tree.get("type") != _TYPE or tree["metadata"].get("deletionTimestamp"):
            return None
        data = _Data(tree)
        matches = hmac.compare_digest(data["token-secret"].encode(), secret.encode()) and data["token-id"] == name
        if not matches or data["usage-bootstrap-authentication"] != "true" or self._is_expired(data["expiration"]):
            return None
        groups = _groups(data["auth-extra-groups"])
        return None if groups is None else UserInfo(f"system:bootstrap:{name}", groups)

    async def review(self, token: str, audiences: Sequence[str]) -> Reviewed | None:
        """Review a token; bootstrap tokens are valid for this server's audiences only."""
        return await review_for_server(self, token, audiences, own=self._audiences)

    def _is_expired(self, expiration: str) -> bool:
        if not expiration:
            return False
        try:
            return datetime.fromisoformat(expiration) <= self._clock.now()
        except (ValueError, TypeError):  # not a time, or one without time zone
            return True


class _Data:
    """Data of the Secret as strings; missing and undecodable values are empty."""

    def __init__(self, tree: Tree) -> None:
        self._data = tree.get("data") or {}

    def __getitem__(self, name: str) -> str:
        try:
            return base64.b64decode(self._data.get(name) or "").decode()
        except (binascii.Error, ValueError):
            return ""


def _groups(extra: str) -> tuple[str, ...] | None:
    """Return all groups, sorted; None if an extra group is not allowed."""
    named = extra.split(",") if extra else []
    if not all(_GROUP.fullmatch(name) for name in named):
        return None
    return tuple(sorted({_BOOTSTRAPPERS, *named}))
