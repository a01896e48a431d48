"""Controller of unused legacy tokens; runs once a day."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar, Final

from lightkube.models.core_v1 import ConfigMap, Pod, Secret, ServiceAccount

from steersman.client.errors import ClientError, NotFound
from steersman.client.objects import annotations_of, name_of, namespace_of, resource_version_of, uid_of
from steersman.controllers.legacytokencleaner.plan import (
    INVALID_SINCE,
    TRACKING,
    Delete,
    Invalidate,
    account_of,
    decide,
    is_tracked_long_enough,
    used_secrets,
)
from steersman.controllers.shared.base import ManagedController
from steersman.runtime.result import Result

if TYPE_CHECKING:
    from steersman.controllers.context import ControllerContext

_TYPE: Final = "kubernetes.io/service-account-token"
_ACCOUNT: Final = "kubernetes.io/service-account.name"
_PERIOD_SECONDS: Final = 24 * 3600.0
_ALL: Final = "all"


class LegacyTokenCleaner(ManagedController):
    """Reconciles one key for all Secrets."""

    name: ClassVar[str] = "legacy-serviceaccount-token-cleaner-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._period = timedelta(seconds=self.options.legacy_service_account_token_clean_up_period_seconds)
        self._secrets = self.informer(Secret, field_selector={"type": _TYPE})
        self._accounts = self.informer(ServiceAccount)
        self._pods = self.informer(Pod)

    async def start(self) -> None:
        """Enqueue the key once."""
        self.queue.add(_ALL)

    async def reconcile(self, key: str) -> Result:
        """Process all Secrets. A failure does not stop the others, and all are retried with backoff."""
        del key
        now, failed = self.clock.now(), list[Exception]()
        if is_tracked_long_enough(await self._tracking(), now=now, period=self._period):
            for secret in self._secrets.lister.list():
                namespace = namespace_of(secret)
                named = self._accounts.lister.get(annotations_of(secret).get(_ACCOUNT, ""), namespace=namespace)
                account = account_of(secret, named)
                mounted = used_secrets(self._pods.lister.list(namespace=namespace), namespace)
                try:
                    await self._act(secret, decide(secret, account, mounted, now=now, period=self._period))
                except ClientError as error:
                    failed.append(error)
        if failed:
            raise ExceptionGroup("some tokens could not be cleaned up", failed)
        return Result(requeue_after_seconds=_PERIOD_SECONDS)

    async def _act(self, secret: Secret, action: Invalidate | Delete | None) -> None:
        match action:
            case Invalidate(day):
                metadata = {"uid": uid_of(secret), "resourceVersion": resource_version_of(secret)}
                patch = {"metadata": {**metadata, "labels": {INVALID_SINCE: day}}}
                with suppress(NotFound):
                    await self.client.patch(Secret, name_of(secret), patch, namespace=namespace_of(secret))
            case Delete():
                await self.delete_seen(secret, unchanged=True)
            case None:
                pass

    async def _tracking(self) -> ConfigMap | None:
        try:
            return await self.client.get(ConfigMap, TRACKING, namespace="kube-system")
        except NotFound:
            return None


def build(context: ControllerContext) -> LegacyTokenCleaner:
    """Construct the controller."""
    return LegacyTokenCleaner(context)
