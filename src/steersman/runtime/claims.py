"""Which dependents belong to a controller: the rule alone (``ControllerRefManager.ClaimObject``)."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any

from steersman.client.objects import namespace_of, uid_of
from steersman.runtime.finalizers import is_being_deleted
from steersman.runtime.owners import controller_of


class Claim(Enum):
    """What to do about a dependent."""

    #: It is ours and stays so.
    KEEP = auto()
    #: It is not ours, and not to be touched.
    IGNORE = auto()
    #: An orphan that matches: make it ours.
    ADOPT = auto()
    #: Ours, and matches no more: let it go.
    RELEASE = auto()


def decide_claim(obj: Any, controller: Any, *, matches: bool) -> Claim:
    """``matches``: whether the controller's selector, and what else it asks for, holds for ``obj``.

    A controller that is being deleted takes and releases nothing: what it has goes with it.
    """
    owner = controller_of(obj)
    if owner is not None:
        if owner.uid != uid_of(controller):
            return Claim.IGNORE
        if matches:
            return Claim.KEEP
        return Claim.IGNORE if is_being_deleted(controller) else Claim.RELEASE
    if not matches or is_being_deleted(controller) or is_being_deleted(obj):
        return Claim.IGNORE
    namespace = namespace_of(controller)
    return Claim.IGNORE if namespace and namespace != namespace_of(obj) else Claim.ADOPT
