"""Controller of token Secrets: watches them and their ServiceAccounts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from lightkube.models.core_v1 import Secret, ServiceAccount

from steersman.apiserver.authn import keys
from steersman.client.changes import Added, Deleted, Updated
from steersman.client.errors import NotFound
from steersman.client.objects import key_of, name_of, split_key
from steersman.controllers.serviceaccounttoken.plan import (
    TYPE,
    account_key,
    filled,
    is_complete,
    is_for,
    without_reference,
)
from steersman.controllers.shared.base import ManagedController

if TYPE_CHECKING:
    from steersman.apiserver.authn.keys import PrivateKey
    from steersman.client.changes import Change
    from steersman.controllers.context import ControllerContext

_BY_ACCOUNT: Final = "account"


class TokensController(ManagedController):
    """Reconciles Secrets."""

    name: ClassVar[str] = "serviceaccount-token-controller"
    queue_name: ClassVar[str] = "serviceaccount_tokens_secret"

    def __init__(self, context: ControllerContext, *, key: PrivateKey, root_ca: bytes) -> None:
        """``key`` signs the tokens; ``root_ca`` is added to their Secrets unless empty."""
        super().__init__(context, workers=context.options.concurrent_serviceaccount_token_syncs)
        self._key = key
        self._root_ca = root_ca
        #: Accounts of deleted Secrets.
        self._deleted_secrets: dict[str, Secret] = {}
        self._secrets = self.informer(Secret, field_selector={"type": TYPE})
        self._secrets.add_index(_BY_ACCOUNT, _accounts)
        self._secrets.add_callback(self._secret_changed)
        self._accounts = self.informer(ServiceAccount)
        self._accounts.add_callback(self._account_changed)

    def _secret_changed(self, change: Change[Secret]) -> None:
        if isinstance(change, Deleted) and account_key(change.old):
            self._deleted_secrets[key_of(change.old)] = change.old
        self.queue.add(key_of(change.latest))

    def _account_changed(self, change: Change[ServiceAccount]) -> None:
        if isinstance(change, Updated) or (isinstance(change, Added) and change.is_initial):
            return
        for secret in self._secrets.lister.by_index(_BY_ACCOUNT, key_of(change.latest)):
            self.queue.add(key_of(secret))

    async def reconcile(self, key: str) -> None:
        """Fill a Secret, or delete it if its account does not exist; remove a deleted one from its account's list."""
        removed = self._deleted_secrets.get(key)
        if removed is not None:
            await self._unlist(removed)
            if self._deleted_secrets.get(key) is removed:
                del self._deleted_secrets[key]
        secret = self._secrets.lister.by_key(key)
        if secret is None or not account_key(secret):
            return
        account = await self._account(secret)
        if account is None:
            await self.delete_seen(secret, unchanged=True)
        elif not is_complete(secret, root_ca=self._root_ca):
            await self._fill(key, secret, account)

    async def _account(self, secret: Secret) -> ServiceAccount | None:
        """Return the Secret's account; a cache miss is verified with the server."""
        namespace, name = split_key(account_key(secret))
        account = self._accounts.lister.get(name, namespace=namespace)
        if account is not None and is_for(secret, account):
            return account
        try:
            live = await self.client.get(ServiceAccount, name, namespace=namespace)
        except NotFound:
            return None
        return live if is_for(secret, live) else None

    async def _fill(self, key: str, secret: Secret, account: ServiceAccount) -> None:
        """Update this version of the Secret with token, CA and namespace."""
        new = filled(secret, account, root_ca=self._root_ca, sign=self._key.sign)
        try:
            written = await self.client.update(new)
        except NotFound:
            return
        self.own_writes.note(key, self._secrets, written)

    async def _unlist(self, secret: Secret) -> None:
        """Remove the Secret from the live account's list; the cache may be stale, and the write is not retried."""
        namespace, name = split_key(account_key(secret))
        if self._secrets.lister.get(name_of(secret), namespace=namespace) is not None:
            return
        try:
            account = await self.client.get(ServiceAccount, name, namespace=namespace)
            changed = without_reference(account, name_of(secret)) if is_for(secret, account) else None
            if changed is not None:
                await self.client.update(changed)
        except NotFound:
            pass


def _accounts(secret: Secret) -> tuple[str, ...]:
    key = account_key(secret)
    return (key,) if key else ()


def build(context: ControllerContext) -> TokensController | None:
    """Construct the controller; None without ``--service-account-private-key-file``."""
    options = context.options
    if not options.service_account_private_key_file:
        return None
    key = keys.read_private_key(Path(options.service_account_private_key_file).read_bytes())
    root_ca = Path(options.root_ca_file).read_bytes() if options.root_ca_file else b""
    return TokensController(context, key=key, root_ca=root_ca)
