"""Owner references: reading and constructing them, for typed structs and plain trees."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from steersman.client.objects import metadata_field, name_of, uid_of
from steersman.runtime.structs import field

if TYPE_CHECKING:
    from collections.abc import Iterable


class Owner(msgspec.Struct, frozen=True):
    """Owner reference."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False
    block_owner_deletion: bool = False

    @property
    def group(self) -> str:
        """API group; empty for the core group."""
        return self.api_version.rpartition("/")[0]

    def tree(self) -> dict[str, Any]:
        """Return the reference as a JSON tree."""
        tree: dict[str, Any] = {
            "apiVersion": self.api_version, "kind": self.kind, "name": self.name, "uid": self.uid,
        }  # fmt: skip
        if self.controller:
            tree["controller"] = True
        if self.block_owner_deletion:
            tree["blockOwnerDeletion"] = True
        return tree

    def typed(self) -> Any:
        """Return the reference as ``lightkube.models.meta_v1.OwnerReference``."""
        from lightkube.models.meta_v1 import OwnerReference  # noqa: PLC0415 — needed for typed objects only

        return OwnerReference(**self.tree())


def owners_of(obj: Any) -> list[Owner]:
    """Return all owner references, in order."""
    return [_owner(reference) for reference in metadata_field(obj, "ownerReferences") or ()]


def _owner(reference: Any) -> Owner:
    get = reference.get if isinstance(reference, dict) else partial(getattr, reference)
    return Owner(
        get("apiVersion", None) or "",
        get("kind", None) or "",
        get("name", None) or "",
        get("uid", None) or "",
        controller=get("controller", None) or False,
        block_owner_deletion=get("blockOwnerDeletion", None) or False,
    )


def controller_of(obj: Any) -> Owner | None:
    """Return the controller reference of ``obj``; None for an orphan. Upstream: ``metav1.GetControllerOf``."""
    reference = stored_controller_of(obj)
    return None if reference is None else _owner(reference)


def stored_controller_of(obj: Any) -> Any:
    """Return the controller reference of ``obj`` in its stored type, for ``structs.field``; None for an orphan."""
    for reference in metadata_field(obj, "ownerReferences") or ():
        if field(reference, "controller"):
            return reference
    return None


def controller_reference(owner: Any, *, api_version: str, kind: str) -> Owner:
    """Return the reference that makes ``owner`` the controller of an object. Upstream: ``metav1.NewControllerRef``.

    Kind and version are parameters, since items of lists do not carry them.
    """
    return Owner(api_version, kind, name_of(owner), uid_of(owner), controller=True, block_owner_deletion=True)


def is_controlled_by(obj: Any, owner: Any) -> bool:
    """Report whether ``owner`` (by its UID) manages ``obj``."""
    controller = controller_of(obj)
    return controller is not None and controller.uid == uid_of(owner)


def without_owner(owners: Iterable[Owner], uid: str) -> list[Owner]:
    """Return the references with another UID."""
    return [owner for owner in owners if owner.uid != uid]
