"""ConfigMap ``extension-apiserver-authentication``: authentication settings for extension API servers.

It has the CA of client certificates, and CA and header names of the front proxy.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from steersman.client.errors import AlreadyExists, Conflict, NotFound
from steersman.client.resource_types import tree

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steersman.apimachinery.trees import Tree
    from steersman.client import Client


CONFIG_MAPS: Final = tree("v1", "ConfigMap")
NAMESPACE: Final = "kube-system"
NAME: Final = "extension-apiserver-authentication"

_RACES_MAX: Final = 5
_CERTIFICATE: Final = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)


class AuthenticationInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of this server; CAs in PEM, empty for none."""

    client_ca: str = ""
    request_header_client_ca: str = ""
    username_headers: tuple[str, ...] = ("X-Remote-User",)
    uid_headers: tuple[str, ...] = ()
    group_headers: tuple[str, ...] = ("X-Remote-Group",)
    extra_header_prefixes: tuple[str, ...] = ("X-Remote-Extra-",)
    #: Common names of front-proxy certificates.
    allowed_names: tuple[str, ...] = ("front-proxy-client",)


def plan_config(existing: Tree | None, info: AuthenticationInfo) -> Tree | None:
    """Return the ConfigMap to write; None if up to date. Settings of other servers are preserved, because their CAs may differ."""
    data = (existing or {}).get("data") or {}
    desired = dict(data)
    _put(desired, "client-ca-file", _bundle(data.get("client-ca-file") or "", info.client_ca))
    if info.request_header_client_ca:
        key = "requestheader-client-ca-file"
        _put(desired, key, _bundle(data.get(key) or "", info.request_header_client_ca))
        for key, values in (
            ("requestheader-username-headers", info.username_headers),
            *([("requestheader-uid-headers", info.uid_headers)] if info.uid_headers else []),
            ("requestheader-group-headers", info.group_headers),
            ("requestheader-extra-headers-prefix", info.extra_header_prefixes),
            ("requestheader-allowed-names", info.allowed_names),
        ):
            desired[key] = _listed(data.get(key), values)
    if existing is not None and desired == data:
        return None
    metadata = existing["metadata"] if existing is not None else {"namespace": NAMESPACE, "name": NAME}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": desired}


async def publish(client: Client, info: AuthenticationInfo) -> None:
    """Add this server's settings to the ConfigMap. Raises ``ApiError``, ``ClientError``."""
    for _ in range(_RACES_MAX):
        try:
            existing: Tree | None = await client.get(CONFIG_MAPS, NAME, namespace=NAMESPACE)
        except NotFound:
            existing = None
        desired = plan_config(existing, info)
        if desired is None:
            return
        try:
            await (client.create(desired) if existing is None else client.update(desired))
        except (AlreadyExists, Conflict):  # another server has written it
            pass
        else:
            return


def _put(data: dict[str, str], key: str, value: str) -> None:
    if value:
        data[key] = value


def _bundle(*texts: str) -> str:
    """Concatenate certificates without duplicates."""
    certificates = dict.fromkeys(certificate for text in texts for certificate in _CERTIFICATE.findall(text))
    return "".join(f"{certificate}\n" for certificate in certificates)


def _listed(stored: str | None, own: Iterable[str]) -> str:
    try:
        current = msgspec.json.decode(stored or "[]", type=list[str])
    except msgspec.MsgspecError:
        current = []  # another client wrote an invalid value
    return msgspec.json.encode(list(dict.fromkeys([*current, *own]))).decode()
