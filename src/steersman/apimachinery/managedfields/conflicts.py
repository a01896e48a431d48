"""Conflicts of server-side apply."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apimachinery import errors
from steersman.apimachinery.managedfields.elements import path_text
from steersman.apimachinery.managedfields.fieldset import Node, paths

if TYPE_CHECKING:
    from steersman.apimachinery.managedfields.entries import Owner


class OwnershipError(Exception):
    """An apply changes fields of other managers; ``conflicts`` lists field and owner."""

    def __init__(self, conflicts: dict[Owner, Node]) -> None:
        super().__init__()
        self.conflicts = conflicts

    def status(self) -> errors.StatusError:
        """Return the 409 that names every field and its owner."""
        by_owner = {
            owner: [path_text(path) for path in paths(self.conflicts[owner])]
            for owner in sorted(self.conflicts, key=lambda owner: owner.identifier())
        }
        causes = [
            {"reason": errors.CAUSE_FIELD_MANAGER_CONFLICT, "message": f"conflict with {owner}", "field": path}
            for owner, texts in by_owner.items()
            for path in texts
        ]
        if len(causes) == 1:
            ((owner, (path,)),) = by_owner.items()
            message = f"Apply failed with 1 conflict: conflict with {owner}: {path}"
        else:
            lines = []
            for owner, texts in by_owner.items():
                lines += [f"conflicts with {owner}:", *(f"- {path}" for path in texts)]
            message = "\n".join(lines)
            message = f"Apply failed with {len(causes)} conflicts: {message}"
        return errors.apply_conflict(message, causes)
