"""Sources of certificates that are issued by an authority of the webhook server itself."""

from __future__ import annotations

import base64
import logging
from asyncio import to_thread
from typing import TYPE_CHECKING, Any, Final

from steersman.asynckit.clock import RealClock
from steersman.asynckit.serving_tls import PemPair
from steersman.client.errors import AlreadyExists, Conflict, NotFound
from steersman.client.resource_types import tree
from steersman.webhooks.rotation import CA_CERT, CERT, KEY, rotate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.asynckit.clock import Clock
    from steersman.client import Client

_log = logging.getLogger(__name__)

SECRETS: Final = tree("v1", "Secret")
#: Writes that lose against another replica before an error is raised.
_ATTEMPTS_MAX: Final = 5


class SelfSignedCertificate:
    """Certificate of this process, whose authority no other process knows: for tests and for a single replica."""

    reload_seconds: Final = 60.0

    def __init__(self, hosts: Sequence[str] = ("127.0.0.1", "localhost"), *, clock: Clock | None = None) -> None:
        """``hosts``: names and addresses that clients connect to."""
        self._hosts = list(hosts)
        self._clock = clock or RealClock()
        self._data = rotate({}, "webhook", self._hosts, now=self._clock.now()) or {}

    @property
    def ca_bundle(self) -> bytes:
        """Authorities in PEM, for ``clientConfig.caBundle``."""
        return self._data[CA_CERT]

    async def load(self) -> PemPair:
        """Return the pair, renewed before its end."""
        renewed = await to_thread(rotate, self._data, "webhook", self._hosts, now=self._clock.now())
        self._data = renewed or self._data
        return PemPair(self._data[CERT], self._data[KEY])


class SecretCertificate:
    """Certificate and authority in a Secret of type ``kubernetes.io/tls``, which all replicas share.

    The first replica creates the Secret. Any replica renews the certificate 30 days before its end, and the authority 180 days
    before; the serving certificate has 90 days, the authority ten years. Needs ``get``, ``create`` and ``update`` of the Secret.
    """

    reload_seconds: Final = 60.0

    def __init__(self, client: Client, name: str, *, namespace: str, hosts: Sequence[str]) -> None:
        """``hosts``: names and addresses that clients connect to, ``SERVICE.NAMESPACE.svc`` for a Service."""
        self._client = client
        self._name = name
        self._namespace = namespace
        self._hosts = list(hosts)

    async def load(self) -> PemPair:
        """Return the pair of the Secret, which is created or renewed if necessary. Raises ``ClientError``."""
        for attempt in range(_ATTEMPTS_MAX):
            try:
                return await self._load()
            except (AlreadyExists, Conflict):
                if attempt == _ATTEMPTS_MAX - 1:
                    raise
        raise AssertionError

    async def _load(self) -> PemPair:
        try:
            secret = await self._client.get(SECRETS, self._name, namespace=self._namespace)
        except NotFound:
            secret = None
        data = {} if secret is None else decoded_data(secret)
        rotated = await to_thread(rotate, data, self._name, self._hosts, now=self._client.clock.now())
        if rotated is None:
            return PemPair(data[CERT], data[KEY])
        encoded = {key: base64.b64encode(value).decode() for key, value in rotated.items()}
        if secret is None:
            metadata = {"name": self._name, "namespace": self._namespace}
            new = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "kubernetes.io/tls"}
            await self._client.create({**new, "data": encoded})
        else:
            await self._client.update({**secret, "data": {**(secret.get("data") or {}), **encoded}})
        _log.info("the certificate in the Secret %s/%s was renewed", self._namespace, self._name)
        return PemPair(rotated[CERT], rotated[KEY])


def decoded_data(secret: dict[str, Any]) -> dict[str, bytes]:
    """Return the values of a Secret."""
    return {key: base64.b64decode(value) for key, value in (secret.get("data") or {}).items()}
