"""Scenario of ServiceAccounts: each namespace has its own and the cluster's CA, token Secrets have valid tokens.

Expected states are from "Managing Service Accounts" of Kubernetes' documentation.
"""

from __future__ import annotations

import base64
from datetime import timedelta
from typing import Any, NamedTuple

from lightkube.models.core_v1 import ConfigMap, Namespace, Secret, ServiceAccount
from msgspec.structs import replace
from tests.conformance.histories import Scenario, World, ensure

from steersman.apiserver.authn import jws, keys
from steersman.asynckit.certificates import make_ca
from steersman.client.objects import annotations_of, metadata_field, name_of, namespace_of, uid_of

NAMESPACES = ("m1", "m2")
ACCOUNTS = ("default", "robot")
SECRETS = ("s1", "s2", "s3")
ROOT_CA = "the cluster's CA\n"
PUBLISHED = "kube-root-ca.crt"
TYPE = "kubernetes.io/service-account-token"
NAME = "kubernetes.io/service-account.name"
UID = "kubernetes.io/service-account.uid"


class Gone(NamedTuple):
    """Token Secret that was deleted after it got its token, and the run of the manager that had filled it."""

    namespace: str
    name: str
    account_uid: str
    life: int


class Accounts(Scenario):
    """Users create and delete namespaces, accounts and token Secrets, and damage the controllers' output."""

    controllers = (
        "serviceaccount-controller",
        "serviceaccount-token-controller",
        "root-ca-certificate-publisher-controller",
        "namespace-controller",
    )

    def __init__(self) -> None:
        self.options: dict[str, Any] = {}
        #: Runs of the manager in which Secrets were created, by their UID.
        self._created_in_life: dict[str, int] = {}
        #: Account UIDs by UIDs of Secrets that only their user may delete.
        self._protected: dict[str, str] = {}
        self._deleted: list[Gone] = []

    async def prepare(self, world: World) -> None:
        key_file, ca_file = world.folder / "sa.key", world.folder / "ca.crt"
        key_file.write_bytes(make_ca("any", now=world.clock.now(), life=timedelta(days=1)).key)
        ca_file.write_text(ROOT_CA)
        self._key = keys.read_private_key(key_file.read_bytes())
        self.options = {"service_account_private_key_file": str(key_file), "root_ca_file": str(ca_file)}

    async def edit(self, world: World) -> None:
        edits = [self.make, self.make, self.remove, self.make_account, self.lose_account, self.make_secret,
                 self.make_secret, self.make_secret, self.lose_secret, self.lose_secret, self.damage_secret,
                 self.list_secret, self.list_secret, self.break_ca, self.make_ca_first]  # fmt: skip
        await world.dice.choice(edits)(world, world.dice.choice(NAMESPACES))

    async def make(self, world: World, name: str) -> None:
        await world.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

    async def remove(self, world: World, name: str) -> None:
        await world.client.delete(Namespace, name)

    async def make_account(self, world: World, namespace: str) -> None:
        metadata = {"name": "robot", "namespace": namespace}
        await world.client.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})

    async def lose_account(self, world: World, namespace: str) -> None:
        await world.client.delete(ServiceAccount, world.dice.choice(ACCOUNTS), namespace=namespace)

    async def make_secret(self, world: World, namespace: str) -> None:
        """Create a token Secret for an account that may not exist, or for an older one of that name."""
        dice = world.dice
        name, account = dice.choice(SECRETS), dice.choice(ACCOUNTS)
        service_accounts = await world.client.list(ServiceAccount, namespace=namespace)
        uids = [uid_of(service_account) for service_account in service_accounts if name_of(service_account) == account]
        annotations = {NAME: account}
        uid = dice.choice(["", "", "another", *uids])
        if uid:
            annotations[UID] = uid
        metadata = {"name": name, "namespace": namespace, "annotations": annotations}
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": TYPE}
        created = await world.client.create(body)
        self._created_in_life[created["metadata"]["uid"]] = world.lives
        if uids and uid in ("", *uids):
            self._protected[created["metadata"]["uid"]] = uids[0]
        self._deleted = [secret_key for secret_key in self._deleted if secret_key[:2] != (namespace, name)]

    async def lose_secret(self, world: World, namespace: str) -> None:
        secret = await self._secret(world, namespace)
        if secret is None:
            return
        if world.dice.random() < 0.5:
            await ensure(self._list(world, secret))
        await world.client.delete_object(secret, uid=uid_of(secret))
        self._protected.pop(uid_of(secret), None)
        if (secret.data or {}).get("token"):
            account_uid = annotations_of(secret)[UID]
            self._deleted.append(Gone(namespace, name_of(secret), account_uid, self._created_in_life[uid_of(secret)]))

    async def damage_secret(self, world: World, namespace: str) -> None:
        secret = await self._secret(world, namespace)
        if secret is not None:
            damage = world.dice.choice([{"token": None}, {"namespace": None}, {"ca.crt": None}, {"ca.crt": "YQ=="}])
            await world.client.patch(Secret, name_of(secret), {"data": damage}, namespace=namespace)

    async def list_secret(self, world: World, namespace: str) -> None:
        """Add a Secret to the account's list under the name that a pod may mount."""
        secret = await self._secret(world, namespace)
        if secret is not None:
            await self._list(world, secret)

    async def _list(self, world: World, secret: Secret) -> None:
        account = await world.client.get(ServiceAccount, annotations_of(secret)[NAME], namespace=namespace_of(secret))
        listed = {reference.name for reference in account.secrets or ()} | {name_of(secret)}
        await world.client.update(replace(account, secrets=[{"name": name} for name in sorted(listed)]))

    async def break_ca(self, world: World, namespace: str) -> None:
        if world.dice.random() < 0.5:
            await world.client.delete(ConfigMap, PUBLISHED, namespace=namespace)
        else:
            data = world.dice.choice([{"ca.crt": "another"}, {"more": "of it"}, {"ca.crt": None}])
            await world.client.patch(ConfigMap, PUBLISHED, {"data": data}, namespace=namespace)

    async def make_ca_first(self, world: World, namespace: str) -> None:
        """Create the config map before the controller does."""
        await ensure(world.client.delete(ConfigMap, PUBLISHED, namespace=namespace))
        metadata = {"name": PUBLISHED, "namespace": namespace}
        await world.client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "b"}})

    async def _secret(self, world: World, namespace: str) -> Secret | None:
        secrets = await world.client.list(Secret, namespace=namespace)
        return world.dice.choice(secrets) if secrets else None

    # What must be

    async def wrong(self, world: World) -> str:
        namespaces = await world.client.list(Namespace)
        ending = [name_of(namespace) for namespace in namespaces if metadata_field(namespace, "deletionTimestamp")]
        if ending:
            return f"namespaces are still there: {ending}"
        accounts = {
            (namespace_of(service_account), name_of(service_account)): service_account
            for service_account in await world.client.list(ServiceAccount)
        }
        published = {
            namespace_of(config_map): config_map
            for config_map in await world.client.list(ConfigMap)
            if name_of(config_map) == PUBLISHED
        }
        for name in map(name_of, namespaces):
            if (name, "default") not in accounts:
                return f"{name} has no account"
            if name not in published or published[name].data != {"ca.crt": ROOT_CA}:
                return f"{name} does not have the CA"
        secrets = await world.client.list(Secret)
        faults = [self._wrong_with(secret, accounts) for secret in secrets]
        return next(filter(None, faults), "") or self._missing(world, secrets, accounts)

    def _wrong_with(self, secret: Secret, accounts: dict[tuple[str, str], ServiceAccount]) -> str:
        """Return the deviation of one Secret."""
        namespace, annotations = namespace_of(secret), annotations_of(secret)
        secret_key = f"{namespace}/{name_of(secret)}"
        account = accounts.get((namespace, annotations[NAME]))
        if account is None or annotations.get(UID) != uid_of(account):
            return f"{secret_key} is of an account that is not there: {annotations}"
        data = {key: base64.b64decode(value).decode() for key, value in (secret.data or {}).items()}
        if data.get("ca.crt") != ROOT_CA or data.get("namespace") != namespace or not data.get("token"):
            return f"{secret_key} holds {sorted(data)}"
        token = jws.read_unverified(data["token"])
        subject = f"system:serviceaccount:{namespace}:{name_of(account)}"
        reported = [
            token.claims.get(f"kubernetes.io/serviceaccount/{key}") for key in ("service-account.uid", "secret.name")
        ]
        if token.claims["sub"] != subject or reported != [uid_of(account), name_of(secret)]:
            return f"the token of {secret_key} is of {token.claims}"
        return (
            "" if self._key.verified_claims(data["token"]) else f"the token of {secret_key} is not signed with the key"
        )

    def _missing(
        self, world: World, secrets: list[Secret], accounts: dict[tuple[str, str], ServiceAccount]
    ) -> str:  # fmt: skip
        """Return what the controllers should not have deleted, and what they should have."""
        uids, existing = {uid_of(item) for item in accounts.values()}, {uid_of(secret) for secret in secrets}
        lost = [uid for uid, account in self._protected.items() if account in uids and uid not in existing]
        if lost:
            return f"secrets of accounts that live are gone: {lost}"
        stored_secrets = {(namespace_of(secret), name_of(secret)) for secret in secrets}
        for deleted in self._deleted:
            if deleted.life == world.lives and deleted[:2] not in stored_secrets:
                listing = [item for item in accounts.values() if uid_of(item) == deleted.account_uid]
                if any(reference.name == deleted.name for holder in listing for reference in holder.secrets or ()):
                    return f"{deleted} is still listed"
        return ""
