"""``--authentication-token-webhook-config-file``: tokens that a webhook reviews (``TokenReview``).

Upstream: staging/src/k8s.io/apiserver/plugin/pkg/authenticator/token/webhook/webhook.go
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.apimachinery.reviews import ReviewDecodeError, read_review
from steersman.apiserver.authn.interface import InvalidCredentials, Reviewed
from steersman.apiserver.request import UserInfo

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    #: Posts a body and returns that of a successful answer. Raises ``ReviewError``.
    Post = Callable[[bytes], Awaitable[bytes]]

_log = logging.getLogger(__name__)

_GROUP: Final = "authentication.k8s.io"
_KIND: Final = "TokenReview"


class ReviewError(Exception):
    """The webhook gave no usable answer."""


class WebhookTokens:
    """Reviewer of tokens by a webhook, without a cache. Every failure rejects the token."""

    def __init__(self, post: Post, *, version: str, audiences: Sequence[str]) -> None:
        """``version``: ``v1`` or ``v1beta1``. ``audiences``: of this server, for webhooks that do not know audiences."""
        self._post: Final = post
        self._version: Final = version
        self._audiences: Final = tuple(audiences)

    async def review(self, token: str, audiences: Sequence[str]) -> Reviewed | None:
        """Return the user; None for rejected tokens. Raises ``InvalidCredentials``."""
        spec: dict[str, Any] = {"token": token}
        if audiences:
            spec["audiences"] = list(audiences)
        body = {
            "kind": _KIND,
            "apiVersion": f"{_GROUP}/{self._version}",
            "metadata": {},
            "spec": spec,
            "status": {"user": {}},
        }
        try:
            status = self._status(await self._post(msgspec.json.encode(body)))
            return self._reviewed(status, audiences)
        except ReviewError as error:
            _log.error("Failed to make webhook authenticator request: %s", error)
            raise InvalidCredentials(str(error)) from error

    def _status(self, answer: bytes) -> dict[str, Any]:
        """Return the status of an answer. Raises ``ReviewError``."""
        try:
            review, _, _ = read_review(answer, group=_GROUP, version=self._version, kind=_KIND)
        except ReviewDecodeError as error:
            raise ReviewError(str(error)) from error
        return _object(review, "status")

    def _reviewed(self, status: dict[str, Any], audiences: Sequence[str]) -> Reviewed | None:
        """Return the user of a status. Raises ``ReviewError``; ``InvalidCredentials`` with the webhook's error."""
        confirmed = _strings(status, "audiences") or self._audiences
        is_authenticated, error = _typed(status, "authenticated", bool, False), _typed(status, "error", str, "")
        user = _user(_object(status, "user"))
        common = tuple([audience for audience in confirmed if audience in audiences])
        if audiences and not common:
            return None
        if not is_authenticated:
            if error:
                raise InvalidCredentials(error)
            return None
        if not user.name:
            raise ReviewError("the answer names no user")
        return Reviewed(user, common)


def _user(tree: dict[str, Any]) -> UserInfo:
    extra = {key: _strings(_object(tree, "extra"), key) for key in _object(tree, "extra")}
    return UserInfo(_typed(tree, "username", str, ""), _strings(tree, "groups"), _typed(tree, "uid", str, ""), extra)


def _typed(tree: dict[str, Any], name: str, type_: type, default: Any) -> Any:
    """Return a field; its default if it is missing or null. Raises ``ReviewError`` for another type."""
    value = tree.get(name)
    if value is None:
        return default
    if not isinstance(value, type_):
        raise ReviewError(f"the answer's field {name} has the wrong type")
    return value


def _object(tree: dict[str, Any], name: str) -> dict[str, Any]:
    value: dict[str, Any] = _typed(tree, name, dict, {})
    return value


def _strings(tree: dict[str, Any], name: str) -> tuple[str, ...]:
    values = _typed(tree, name, list, [])
    if not all(isinstance(value, str) for value in values):
        raise ReviewError(f"the answer's field {name} has the wrong type")
    return tuple(values)
