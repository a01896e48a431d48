"""Warnings about valid Jobs and job templates of CronJobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apiserver.kinds.shared.podspec.warnings import template_warnings
from steersman.apiserver.kinds.shared.template_warnings import name_warnings
from steersman.apiserver.spec_facts import new_facts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.field import Path
    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.spec_facts import FactsFor

_MANY_COMPLETIONS: Final = 100_000
_HIGH_PARALLELISM: Final = 10_000
_MANY_INDEXES: Final = (
    "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, "
    "Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
)


def job_warnings(obj: Tree, old: Tree | None, spec: Tree, path: Path, facts_for: FactsFor = new_facts) -> Iterator[str]:
    """Yield warnings about the name and the JobSpec at ``path``; on updates about the spec only if the generation
    changes.
    """
    if old is None:
        yield from name_warnings(obj)
    elif obj["metadata"].get("generation") == old["metadata"].get("generation"):
        return
    completions, parallelism = spec.get("completions") or 0, spec.get("parallelism") or 0
    if spec.get("completionMode") == "Indexed" and completions > _MANY_COMPLETIONS and parallelism > _HIGH_PARALLELISM:
        yield f"{path}: {_MANY_INDEXES}"
    yield from template_warnings(spec.get("template") or {}, path.child("template"), facts_for=facts_for)
