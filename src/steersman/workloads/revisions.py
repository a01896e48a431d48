"""ControllerRevisions: templates of a controller, by revision number and by a hash in their names. Pure rules.

Revisions are equal if their data is; the one with the highest number is the newest; a rollback raises the number of
the revision with that template. Upstream: ``pkg/controller/history``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec
from lightkube.models.apps_v1 import ControllerRevision
from lightkube.models.meta_v1 import ObjectMeta, OwnerReference

from steersman.apimachinery.gotext import to_json
from steersman.client.objects import annotations_of, labels_of, name_of, namespace_of
from steersman.workloads.hashing import fnv1_32, safe_encoded

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lightkube.models.core_v1 import PodTemplateSpec

    from steersman.runtime.owners import Owner

#: Maximum length of the owner's name in a revision's name, so that the hash fits.
_OWNER_NAME_MAX: Final = 223


def template_data(template: PodTemplateSpec) -> dict[str, Any]:
    """Return the data of a revision: a patch that puts the template into the owner, with sorted keys.

    Clients compare bytes: ``kubectl rollout undo`` skips a rollback to the data that it would encode itself.
    """
    patch = {"spec": {"template": {**msgspec.to_builtins(template), "$patch": "replace"}}}
    sorted_patch: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(patch, order="deterministic"))
    return sorted_patch


def template_of(revision: ControllerRevision) -> PodTemplateSpec:
    """Return the template in a revision. Raises ``msgspec.ValidationError`` for foreign data."""
    from lightkube.models.core_v1 import PodTemplateSpec  # noqa: PLC0415 — needed for rollbacks only

    data: Any = revision.data or {}
    return msgspec.convert(data["spec"]["template"], PodTemplateSpec)


def data_hash(data: Any, collisions: int) -> str:
    """Return the hash of a revision's data and collision count. Upstream: ``history.HashControllerRevision``."""
    in_order_of_keys = msgspec.json.decode(msgspec.json.encode(data, order="deterministic"))
    return safe_encoded(str(fnv1_32(f"{to_json(in_order_of_keys)}{collisions}".encode())))


def in_order(revisions: Iterable[ControllerRevision]) -> list[ControllerRevision]:
    """Return the revisions by number; equal numbers by age, oldest first."""
    return sorted(revisions, key=_sort_key)


def _sort_key(revision: ControllerRevision) -> tuple[int, float, str]:
    created = revision.metadata.creationTimestamp if revision.metadata else None
    return revision.revision, created.timestamp() if created else 0.0, name_of(revision)


@dataclass(frozen=True, slots=True)
class Present:
    """Revision of the owner's current template."""

    #: None if it must be created.
    revision: ControllerRevision | None
    #: Its revision number.
    number: int
    #: Other revisions with the same template.
    duplicates: tuple[ControllerRevision, ...] = ()


def find_present(revisions: Sequence[ControllerRevision], data: Any) -> Present:
    """Return the newest revision with the current template, and the number that it must have to be the highest."""
    same = in_order(revision for revision in revisions if revision.data == data)
    others = [revision.revision for revision in revisions if revision.data != data]
    number = max(others, default=0) + 1
    if not same:
        return Present(None, number)
    return Present(same[-1], max(number, same[-1].revision), tuple(same[:-1]))


def new_revision(
    owner: Any, template: PodTemplateSpec, *, controller: Owner, number: int, revision_name: str,
    labels: Mapping[str, str],
) -> ControllerRevision:  # fmt: skip
    """Return a revision to create, with the template's labels, further ``labels``, and the owner's annotations.

    ``revision_name`` is the hash in its name.
    """
    metadata = ObjectMeta(
        name=f"{name_of(owner)[:_OWNER_NAME_MAX]}-{revision_name}",
        namespace=namespace_of(owner),
        labels={**labels_of(template), **labels},
        annotations=annotations_of(owner) or None,
        ownerReferences=[OwnerReference(**controller.tree())],
    )
    return ControllerRevision(
        apiVersion="apps/v1",
        kind="ControllerRevision",
        metadata=metadata,
        data=template_data(template),
        revision=number,
    )  # fmt: skip


def superfluous(revisions: Iterable[ControllerRevision], *, keep: int) -> list[ControllerRevision]:
    """Return unused revisions to delete, oldest first, so that ``keep`` remain; a negative ``keep`` retains all."""
    if keep < 0:
        return []
    ordered = in_order(revisions)
    return ordered[: max(0, len(ordered) - keep)]
