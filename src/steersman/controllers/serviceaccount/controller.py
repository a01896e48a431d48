"""Controller of default ServiceAccounts: watches namespaces and deleted accounts."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from lightkube.models.core_v1 import Namespace, ServiceAccount

from steersman.client.changes import Deleted
from steersman.client.objects import name_of, namespace_of
from steersman.controllers.serviceaccount.plan import ENSURED, missing_accounts
from steersman.controllers.shared.base import ManagedController

if TYPE_CHECKING:
    from steersman.controllers.context import ControllerContext


class ServiceAccountsController(ManagedController):
    """Reconciles namespaces by name."""

    name: ClassVar[str] = "serviceaccount-controller"
    queue_name: ClassVar[str] = "serviceaccount"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._namespaces = self.watch(Namespace, when=lambda change: not isinstance(change, Deleted))
        self._accounts = self.watch(
            ServiceAccount,
            keys=lambda account: (namespace_of(account),),
            when=lambda change: isinstance(change, Deleted) and name_of(change.old) in ENSURED,
        )

    async def reconcile(self, key: str) -> None:
        """Create missing accounts."""
        present = {name for name in ENSURED if self._accounts.lister.get(name, namespace=key) is not None}
        for account in missing_accounts(self._namespaces.lister.get(key), present):
            await self.create_unless_exists(key, self._accounts, account)


def build(context: ControllerContext) -> ServiceAccountsController:
    """Construct the controller."""
    return ServiceAccountsController(context)
