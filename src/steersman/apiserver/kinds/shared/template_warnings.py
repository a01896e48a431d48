"""Warnings about valid workloads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apimachinery import names
from steersman.apiserver.kinds.shared.podspec.warnings import template_warnings
from steersman.apiserver.spec_facts import new_facts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.field import Path
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.spec_facts import FactsFor


def name_warnings(obj: Tree) -> Iterator[str]:
    """Yield a warning if the name is not a DNS label, as hostnames of Pods derive from it."""
    faults = names.check_dns1123_label(obj["metadata"].get("name") or "")
    if faults:
        yield (
            "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; "
            f"a DNS label is recommended: [{' '.join(faults)}]"
        )


def workload_warnings(
    obj: Tree, old: Tree | None, path: Path, *, with_name: bool = True, facts_for: FactsFor = new_facts
) -> Iterator[str]:
    """Yield warnings about the name and the Pod template at ``path``; on updates only if the generation changes."""
    if old is None:
        if with_name:
            yield from name_warnings(obj)
    elif obj["metadata"].get("generation") == old["metadata"].get("generation"):
        return
    template: Tree = obj
    for step in str(path).split("."):
        template = template.get(step) or {}
    yield from template_warnings(template, path, facts_for=facts_for)
