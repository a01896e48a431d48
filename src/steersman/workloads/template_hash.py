"""Hash of a Pod template, which identifies the Pods of a template. Upstream: ``controller.ComputeHash``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from steersman.workloads.go_dump import dump
from steersman.workloads.hashing import fnv1a_32, safe_encoded

if TYPE_CHECKING:
    from lightkube.models.core_v1 import PodTemplateSpec


def template_hash(template: PodTemplateSpec, collisions: int | None) -> str:
    """Return the hash of a template and the collision count."""
    data = dump("v1.PodTemplateSpec", msgspec.to_builtins(template)).encode()
    if collisions is not None:
        data += collisions.to_bytes(8, "little", signed=True)
    return safe_encoded(str(fnv1a_32(data)))
