"""Finalizers: who still has something to do before an object may go. Nothing is changed in place."""

from __future__ import annotations

from typing import Any, TypeVar

from steersman.client.objects import metadata_field
from steersman.runtime.structs import with_metadata

T = TypeVar("T")


def has_finalizer(obj: Any, name: str) -> bool:
    """Whether ``obj`` waits for ``name``."""
    return name in (metadata_field(obj, "finalizers") or ())


def is_being_deleted(obj: Any) -> bool:
    """Whether deletion was asked for; the object stays until its last finalizer is taken away."""
    return metadata_field(obj, "deletionTimestamp") is not None


def with_finalizer(obj: T, name: str) -> T:
    """A copy that waits for ``name``; ``obj`` itself when it does already."""
    if has_finalizer(obj, name):
        return obj
    return with_metadata(obj, finalizers=[*(metadata_field(obj, "finalizers") or ()), name])


def without_finalizer(obj: T, name: str) -> T:
    """A copy that does not wait for ``name``; ``obj`` itself when it does not anyway."""
    if not has_finalizer(obj, name):
        return obj
    return with_metadata(obj, finalizers=[other for other in metadata_field(obj, "finalizers") if other != name])
