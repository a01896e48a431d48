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


def plan_config(found: Tree | None, info: AuthenticationInfo) -> Tree | None:
    """Return the ConfigMap to write; None if up to date. Settings of other servers are kept, as their CAs may differ."""
    there = (found or {}).get("data") or {}
    wanted = dict(there)
    _put(wanted, "client-ca-file", _bundle(there.get("client-ca-file") or "", info.client_ca))
    if info.request_header_client_ca:
        key = "requestheader-client-ca-file"
        _put(wanted, key, _bundle(there.get(key) or "", info.request_header_client_ca))
        for key, values in (
            ("requestheader-username-headers", info.username_headers),
            *([("requestheader-uid-headers", info.uid_headers)] if info.uid_headers else []),
            ("requestheader-group-headers", info.group_headers),
            ("requestheader-extra-headers-prefix", info.extra_header_prefixes),
            ("requestheader-allowed-names", info.allowed_names),
        ):
            wanted[key] = _listed(there.get(key), values)
    if found is not None and wanted == there:
        return None
    metadata = found["metadata"] if found is not None else {"namespace": NAMESPACE, "name": NAME}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": wanted}


async def publish(client: Client, info: AuthenticationInfo) -> None:
    """Add this server's settings to the ConfigMap. Raises ``ApiError``, ``ClientError``."""
    for _ in range(_RACES_MAX):
        try:
            found: Tree | None = await client.get(CONFIG_MAPS, NAME, namespace=NAMESPACE)
        except NotFound:
            found = None
        wanted = plan_config(found, info)
        if wanted is None:
            return
        try:
            await (client.create(wanted) if found is None else client.update(wanted))
        except (AlreadyExists, Conflict):  # another server wrote it just now
            pass
        else:
            return


def _put(data: dict[str, str], key: str, value: str) -> None:
    if value:
        data[key] = value


def _bundle(*texts: str) -> str:
    """Concatenate certificates without duplicates."""
    found = dict.fromkeys(one for text in texts for one in _CERTIFICATE.findall(text))
    return "".join(f"{one}\n" for one in found)


def _listed(there: str | None, own: Iterable[str]) -> str:
    try:
        known = msgspec.json.decode(there or "[]", type=list[str])
    except msgspec.MsgspecError:
        known = []  # another client wrote an invalid value
    return msgspec.json.encode(list(dict.fromkeys([*known, *own]))).decode()
