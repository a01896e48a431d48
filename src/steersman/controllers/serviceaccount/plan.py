"""Missing ServiceAccounts of a namespace. Pure rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lightkube.models.core_v1 import ServiceAccount
from lightkube.models.meta_v1 import ObjectMeta

if TYPE_CHECKING:
    from collections.abc import Container

    from lightkube.models.core_v1 import Namespace

#: Accounts of every namespace.
ENSURED: Final = ("default",)


def missing_accounts(namespace: Namespace | None, present: Container[str]) -> list[ServiceAccount]:
    """Return the accounts to create; none unless the namespace is active. ``present``: names of existing ones."""
    if namespace is None or namespace.metadata is None or namespace.status is None:
        return []
    if namespace.status.phase != "Active":
        return []
    return [
        ServiceAccount(metadata=ObjectMeta(name=name, namespace=namespace.metadata.name))
        for name in ENSURED
        if name not in present
    ]
