"""Options of writes: ``CreateOptions``, ``UpdateOptions``, ``PatchOptions``, ``DeleteOptions``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

#: ``fieldValidation``.
IGNORE: Final = "Ignore"
WARN: Final = "Warn"
STRICT: Final = "Strict"

#: ``propagationPolicy``.
ORPHAN: Final = "Orphan"
BACKGROUND: Final = "Background"
FOREGROUND: Final = "Foreground"

META_GROUP: Final = "meta.k8s.io"
_META_V1: Final = "meta.k8s.io/v1"


class WriteOptions:
    """Options of a create, update or patch as requested. Immutable and shared."""

    __slots__ = ("dry_run", "field_manager", "field_validation", "force", "lenient", "strict")

    def __init__(
        self, *, dry_run: bool = False, field_manager: str = "", field_validation: str = "", force: bool | None = None
    ) -> None:
        self.dry_run: Final = dry_run
        self.field_manager: Final = field_manager
        #: ``Ignore``, ``Warn``, ``Strict``, or empty, which means ``Warn``.
        self.field_validation: Final = field_validation
        #: ``force`` of an apply: take over fields of other managers. None if unset.
        self.force: Final = force
        #: Unknown and duplicated fields are errors.
        self.strict: Final = field_validation == STRICT
        #: Unknown and duplicated fields cause no warning.
        self.lenient: Final = field_validation == IGNORE

    def tree(self, kind: str) -> dict[str, Any]:
        """Return the options as admission webhooks see them; ``kind`` is ``CreateOptions`` or ``UpdateOptions``."""
        options: dict[str, Any] = {"kind": kind, "apiVersion": _META_V1}
        if self.dry_run:
            options["dryRun"] = ["All"]
        if self.field_manager:
            options["fieldManager"] = self.field_manager
        if self.field_validation:
            options["fieldValidation"] = self.field_validation
        return options


class DeleteOptions(msgspec.Struct, frozen=True):
    """Options of a delete or deletecollection."""

    dry_run: bool = False
    #: None: the default of the kind.
    grace_period_seconds: int | None = None
    #: Empty if unset.
    propagation_policy: str = ""
    #: Deprecated form of the policies ``Orphan`` and ``Background``. None if unset.
    orphan_dependents: bool | None = None
    #: Precondition: uid of the object. None: any.
    precondition_uid: str | None = None
    #: Precondition: resourceVersion of the object. None: any.
    precondition_resource_version: str | None = None
    #: The client sent preconditions, which may be empty.
    sends_preconditions: bool = False
    #: Delete the object although its stored data is damaged.
    ignore_store_read_error: bool = False

    @property
    def has_preconditions(self) -> bool:
        """Report whether the object must have a certain uid or version."""
        return self.precondition_uid is not None or self.precondition_resource_version is not None

    @property
    def says_propagation(self) -> bool:
        """Report whether the client requested a propagation policy."""
        return bool(self.propagation_policy) or self.orphan_dependents is not None

    def tree(self) -> dict[str, Any]:
        """Return the options as admission webhooks see them."""
        preconditions = _without_none(
            {"uid": self.precondition_uid, "resourceVersion": self.precondition_resource_version}
        )
        return _without_none(
            {
                "kind": "DeleteOptions",
                "apiVersion": _META_V1,
                "gracePeriodSeconds": self.grace_period_seconds,
                "preconditions": preconditions if preconditions or self.sends_preconditions else None,
                "orphanDependents": self.orphan_dependents,
                "propagationPolicy": self.propagation_policy or None,
                "dryRun": ["All"] if self.dry_run else None,
            }
        )


def _without_none(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
