"""Decision whether a controller keeps, adopts, releases or ignores an object. Pure rule.

Upstream: ``BaseControllerRefManager.ClaimObject``.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Any

from steersman.client.objects import namespace_of, uid_of
from steersman.runtime.finalizers import is_being_deleted
from steersman.runtime.owners import controller_of


class Claim(Enum):
    """Action for a candidate dependent."""

    #: Controlled and matching.
    KEEP = auto()
    #: Controlled by another object, or not adoptable.
    IGNORE = auto()
    #: A matching orphan.
    ADOPT = auto()
    #: Controlled, but no longer matching.
    RELEASE = auto()


def decide_claim(obj: Any, controller: Any, *, matches: bool) -> Claim:
    """Return the action for ``obj``: keep, adopt, release or ignore.

    ``matches``: the controller's selector, and its other conditions, hold for ``obj``. A controller that is being
    deleted adopts and releases nothing; the garbage collector deletes its dependents.
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
