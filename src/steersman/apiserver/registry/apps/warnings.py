"""What clients are told about workloads that are accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apimachinery import names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apiserver.registry.strategy import Tree


def name_warnings(obj: Tree) -> Iterator[str]:
    """Names of pods are made from the workload's, and hostnames from those of the pods."""
    faults = names.check_dns1123_label(obj["metadata"].get("name") or "")
    if faults:
        yield (
            "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; "
            f"a DNS label is recommended: [{' '.join(faults)}]"
        )


def counts_as_changed(obj: Tree, old: Tree) -> bool:
    """Whether an update of the object reached its generation: templates are looked at again only then."""
    return bool(obj["metadata"].get("generation") != old["metadata"].get("generation"))
