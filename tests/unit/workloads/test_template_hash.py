"""The hash of a Pod template."""

from __future__ import annotations

import msgspec
from lightkube.models.core_v1 import PodTemplateSpec

from steersman.workloads.template_hash import template_hash


def test_template_hash_depends_on_template_and_collisions():
    one, other = (
        msgspec.convert({"metadata": {"labels": {"v": v}}, "spec": {"containers": []}}, PodTemplateSpec) for v in "12"
    )
    assert len({template_hash(one, None), template_hash(other, None), template_hash(one, 1)}) == 3
