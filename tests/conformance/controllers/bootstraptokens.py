"""Scenario of bootstrap tokens: expired ones are deleted, the others sign ``cluster-info``.

Expected states are from "Authenticating with Bootstrap Tokens" of Kubernetes' documentation; the form of the signatures
is that of RFC 7515, appendix F.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from datetime import datetime, timedelta
from typing import Any

from lightkube.models.core_v1 import ConfigMap, Secret
from tests.conformance.histories import Edits, Scenario, World, ensure

from steersman.client.objects import annotations_of, name_of

SYSTEM, PUBLIC = "kube-system", "kube-public"
SIGNER, CLEANER = "bootstrap-signer-controller", "token-cleaner-controller"
IDS = ("aaaaaa", "bbbbbb", "cccccc")
SIGNATURE = "jws-kubeconfig-"
#: Grace for tokens that have just expired.
JUST_NOW = timedelta(seconds=3)


class Bootstraptokens(Scenario):
    """Users create tokens with and without expiration, change them, and edit the config map."""

    controllers: tuple[str, ...] = (SIGNER, CLEANER)

    async def prepare(self, world: World) -> None:
        """Disable the cleaner in some histories, so that the signer has to check expirations itself."""
        if world.dice.random() < 0.4:
            self.controllers = (SIGNER,)

    def edits(self) -> Edits:
        return [self.make_token, self.make_token, self.make_token, self.change_token, self.change_token,
                self.remove_token, self.make_info, self.make_info, self.change_info, self.remove_info, self.wait]  # fmt: skip

    def _expiration(self, world: World) -> str | None:
        """Return an expiration in various time zones: past, soon, later, never, or malformed."""
        seconds = world.dice.choice([None, None, -5, 3, 60, 200, 7200, "soon"])
        if not isinstance(seconds, int):
            return seconds
        at = world.clock.now().replace(microsecond=0) + timedelta(seconds=seconds)
        return at.isoformat() if world.dice.random() < 0.5 else at.strftime("%Y-%m-%dT%H:%M:%SZ")

    async def make_token(self, world: World) -> None:
        dice = world.dice
        id_ = dice.choice(IDS)
        data = {"token-id": id_, "token-secret": f"{dice.randrange(10**16):016}", "expiration": self._expiration(world),
                "usage-bootstrap-signing": dice.choice(["true", "true", "false", None])}  # fmt: skip
        metadata = {"name": f"bootstrap-token-{id_}", "namespace": SYSTEM}
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "bootstrap.kubernetes.io/token"}
        await world.client.create({**body, "stringData": {key: value for key, value in data.items() if value}})

    async def change_token(self, world: World) -> None:
        dice = world.dice
        change = dice.choice([
            {"token-secret": f"{dice.randrange(10**16):016}"}, {"usage-bootstrap-signing": dice.choice(["true", "false"])},
            {"expiration": self._expiration(world)},
        ])  # fmt: skip
        encoded = {key: value and base64.b64encode(value.encode()).decode() for key, value in change.items()}
        name = f"bootstrap-token-{dice.choice(IDS)}"
        await world.client.patch(Secret, name, {"data": encoded}, namespace=SYSTEM)

    async def remove_token(self, world: World) -> None:
        await world.client.delete(Secret, f"bootstrap-token-{world.dice.choice(IDS)}", namespace=SYSTEM)

    def _info(self, world: World) -> dict[str, Any]:
        return {"kubeconfig": f"clusters: {world.dice.randrange(3)}", "more": "stays"}

    async def make_info(self, world: World) -> None:
        metadata = {"name": "cluster-info", "namespace": PUBLIC, "annotations": {"kept": "yes"}}
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": self._info(world)}
        await world.client.create(body)

    async def change_info(self, world: World) -> None:
        data = world.dice.choice([
            self._info(world), {SIGNATURE + world.dice.choice(IDS): None}, {SIGNATURE + "zzzzzz": "of a token that is gone"},
            {SIGNATURE + world.dice.choice(IDS): "wrong"},
        ])  # fmt: skip
        await world.client.patch(ConfigMap, "cluster-info", {"data": data}, namespace=PUBLIC)

    async def remove_info(self, world: World) -> None:
        await ensure(world.client.delete(ConfigMap, "cluster-info", namespace=PUBLIC))

    async def wait(self, world: World) -> None:
        await world.advance(world.dice.choice([61, 3700]))

    async def wrong(self, world: World) -> str:
        """Return the deviations; tokens that expire at this moment are ignored."""
        now = world.clock.now()
        signs: dict[str, str] = {}
        leaving = set()
        for secret in await world.client.list(Secret, namespace=SYSTEM):
            data = {key: base64.b64decode(value).decode() for key, value in secret.data.items()}
            expires = _time(data.get("expiration"))
            if expires is not None and expires < now - JUST_NOW:
                if CLEANER in self.controllers:
                    return f"{name_of(secret)} expired at {expires}, it is {now}"
                continue
            if expires is not None and expires < now + JUST_NOW:
                leaving.add(data["token-id"])
            if data.get("usage-bootstrap-signing") == "true":
                signs[data["token-id"]] = data["token-secret"]
        infos = await world.client.list(ConfigMap, namespace=PUBLIC, field_selector="metadata.name=cluster-info")
        return next(filter(None, (_wrong_with(info, signs, leaving) for info in infos)), "")


def _wrong_with(info: ConfigMap, signs: dict[str, str], leaving: set[str]) -> str:
    signatures = {key.removeprefix(SIGNATURE): text for key, text in info.data.items() if key.startswith(SIGNATURE)}
    if signatures.keys() - leaving != signs.keys() - leaving:
        return f"it is signed with {sorted(signatures)}, and should be with {sorted(signs)}"
    if info.data["more"] != "stays" or annotations_of(info) != {"kept": "yes"}:
        return f"what users wrote is gone: {info}"
    for id_, text in signatures.items():
        head, payload, signature = text.split(".")
        signed = f"{head}.{_encoded(info.data['kubeconfig'].encode())}".encode()
        expected = hmac.new(signs.get(id_, "").encode(), signed, hashlib.sha256).digest()
        if id_ not in leaving and (payload or signature != _encoded(expected)):
            return f"the signature with {id_} does not fit"
        if json.loads(base64.urlsafe_b64decode(head + "==")) != {"alg": "HS256", "kid": id_}:
            return f"the signature with {id_} is made otherwise: {head}"
    return ""


def _time(text: str | None) -> datetime | None:
    """Return a random expiration; a malformed one counts as expired."""
    try:
        return datetime.fromisoformat(text) if text else None
    except ValueError:
        return datetime.fromisoformat("2000-01-01T00:00:00Z")


def _encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
