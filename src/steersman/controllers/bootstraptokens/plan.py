"""Bootstrap token Secrets, their expiry, and the signatures made with them. Pure rules."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.apimachinery.timestamps import parse_time
from steersman.client.objects import metadata_field, name_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from lightkube.models.core_v1 import ConfigMap, Secret

TYPE: Final = "bootstrap.kubernetes.io/token"
NAMESPACE: Final = "kube-system"
#: Name of the config map in ``kube-public``.
CLUSTER_INFO: Final = "cluster-info"
PUBLIC_NAMESPACE: Final = "kube-public"
_KUBECONFIG: Final = "kubeconfig"
_SIGNATURE: Final = "jws-kubeconfig-"
_NAME: Final = "bootstrap-token-"


def seconds_to_expiry(secret: Secret, *, now: datetime) -> float | None:
    """Return the seconds until the token expires; 0 or less if expired or malformed, None without expiration."""
    text = _text(secret, "expiration")
    if not text:
        return None
    try:
        return (parse_time(text) - now).total_seconds()
    except ValueError:
        return 0.0


def signing_token(secret: Secret, *, now: datetime) -> tuple[str, str] | None:
    """Return id and secret of a token that is usable for signing; None for others."""
    token_id, token = _text(secret, "token-id"), _text(secret, "token-secret")
    if metadata_field(secret, "deletionTimestamp") is not None or not (token_id and token):
        return None
    if name_of(secret) != _NAME + token_id or _text(secret, "usage-bootstrap-signing") != "true":
        return None
    remaining_seconds = seconds_to_expiry(secret, now=now)
    return None if remaining_seconds is not None and remaining_seconds <= 0 else (token_id, token)


def signed(info: ConfigMap, tokens: Mapping[str, str]) -> ConfigMap | None:
    """Return the config map with exactly one signature per token; None if it is up to date."""
    data = info.data or {}
    content = data.get(_KUBECONFIG)
    if content is None:
        return None
    new = {key: value for key, value in data.items() if not key.startswith(_SIGNATURE)}
    new |= {_SIGNATURE + id_: detached_signature(content, id_, token) for id_, token in sorted(tokens.items())}
    return None if new == data else msgspec.structs.replace(info, data=new)


def detached_signature(content: str, token_id: str, token: str) -> str:
    """Return the compact JWS of ``content`` with detached payload (RFC 7515, appendix F), by HMAC with SHA-256."""
    from joserfc import jws  # noqa: PLC0415 — loads cryptography; few clusters have such tokens
    from joserfc.jwk import OctKey  # noqa: PLC0415

    # Not by ``import_key``, which warns about short secrets: the author of the Secret chooses the length.
    key = OctKey(token.encode(), token.encode())
    whole = jws.serialize_compact({"alg": "HS256", "kid": token_id}, content, key, algorithms=["HS256"])
    return jws.detach_content(whole)


def _text(secret: Secret, key: str) -> str:
    try:
        return base64.b64decode((secret.data or {}).get(key) or "").decode()
    except ValueError:
        return ""
