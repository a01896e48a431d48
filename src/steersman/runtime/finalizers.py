"""Finalizers of an object: queries and copies with one added or removed. Inputs are not modified."""

from __future__ import annotations

from typing import Any, TypeVar

from steersman.client.objects import metadata_field
from steersman.runtime.structs import with_metadata

T = TypeVar("T")


def has_finalizer(obj: Any, name: str) -> bool:
    """Report whether ``obj`` has the finalizer ``name``."""
    return name in (metadata_field(obj, "finalizers") or ())


def is_being_deleted(obj: Any) -> bool:
    """Report whether ``metadata.deletionTimestamp`` is set; the object exists until its last finalizer is removed."""
    return metadata_field(obj, "deletionTimestamp") is not None


def with_finalizer(obj: T, name: str) -> T:
    """Return a copy with the finalizer ``name``; ``obj`` itself if it has it."""
    if has_finalizer(obj, name):
        return obj
    return with_metadata(obj, finalizers=[*(metadata_field(obj, "finalizers") or ()), name])


def without_finalizer(obj: T, name: str) -> T:
    """Return a copy without the finalizer ``name``; ``obj`` itself if it does not have it."""
    if not has_finalizer(obj, name):
        return obj
    return with_metadata(obj, finalizers=[other for other in metadata_field(obj, "finalizers") if other != name])
