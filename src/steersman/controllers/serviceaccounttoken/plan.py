"""Account, missing data and token claims of a token Secret. Pure rules."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, Final

import msgspec

from steersman.apiserver.authn.legacy_token import ISSUER
from steersman.client.objects import annotations_of, name_of, namespace_of, uid_of
from steersman.runtime.structs import with_metadata

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightkube.models.core_v1 import Secret, ServiceAccount

TYPE: Final = "kubernetes.io/service-account-token"
NAME: Final = "kubernetes.io/service-account.name"
UID: Final = "kubernetes.io/service-account.uid"
CA_KEY: Final = "ca.crt"
NAMESPACE_KEY: Final = "namespace"
TOKEN_KEY: Final = "token"  # noqa: S105 — a key of the Secret's data
_CLAIM: Final = "kubernetes.io/serviceaccount/"


def account_key(secret: Secret) -> str:
    """Return ``namespace/name`` of the Secret's account; empty for other Secrets."""
    name = annotations_of(secret).get(NAME, "")
    return f"{namespace_of(secret)}/{name}" if secret.type == TYPE and name else ""


def is_for(secret: Secret, account: ServiceAccount) -> bool:
    """Report whether the Secret belongs to the account; the UID is compared only if the Secret has one."""
    uid = annotations_of(secret).get(UID, "")
    same = account_key(secret) == f"{namespace_of(account)}/{name_of(account)}"
    return same and (not uid or uid == uid_of(account))


def is_complete(secret: Secret, *, root_ca: bytes) -> bool:
    """Report whether the Secret has all data."""
    return not _missing(secret, root_ca)


def filled(secret: Secret, account: ServiceAccount, *, root_ca: bytes, sign: Callable[[dict[str, Any]], str]) -> Secret:
    """Return the Secret with the missing data; ``sign`` returns a token for claims."""
    values: dict[str, Callable[[], bytes]] = {
        CA_KEY: lambda: root_ca,
        NAMESPACE_KEY: lambda: namespace_of(secret).encode(),
        TOKEN_KEY: lambda: sign(claims(account, secret)).encode(),
    }
    data = dict(secret.data or {})
    for key in _missing(secret, root_ca):
        data[key] = base64.b64encode(values[key]()).decode()
    annotations = {**annotations_of(secret), NAME: name_of(account), UID: uid_of(account)}
    return msgspec.structs.replace(with_metadata(secret, annotations=annotations), data=data)


def claims(account: ServiceAccount, secret: Secret) -> dict[str, Any]:
    """Return the claims of a token without expiration. Upstream: ``LegacyClaims``."""
    namespace, name = namespace_of(account), name_of(account)
    return {
        "iss": ISSUER,
        f"{_CLAIM}namespace": namespace,
        f"{_CLAIM}secret.name": name_of(secret),
        f"{_CLAIM}service-account.name": name,
        f"{_CLAIM}service-account.uid": uid_of(account),
        "sub": f"system:serviceaccount:{namespace}:{name}",
    }


def without_reference(account: ServiceAccount, secret_name: str) -> ServiceAccount | None:
    """Return the account without the Secret in its list; None if up to date."""
    listed = account.secrets or []
    remaining = [reference for reference in listed if reference.name != secret_name]
    return None if len(remaining) == len(listed) else msgspec.structs.replace(account, secrets=remaining or None)


def _missing(secret: Secret, root_ca: bytes) -> list[str]:
    data = secret.data or {}
    missing_names: list[str] = []
    if root_ca and data.get(CA_KEY) != base64.b64encode(root_ca).decode():
        missing_names.append(CA_KEY)
    missing_names.extend(key for key in (NAMESPACE_KEY, TOKEN_KEY) if not data.get(key))
    return missing_names
