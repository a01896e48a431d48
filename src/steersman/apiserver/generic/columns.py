"""Table cells of several kinds (ages, selectors, images, counts), formatted as by upstream's printers."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from steersman.apiserver.generic.strategy import Column

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import timedelta

    from steersman.apimachinery.trees import Tree

NONE: Final = "<none>"
UNKNOWN: Final = "<unknown>"
UNSET: Final = "<unset>"

NAME_COLUMN: Final = Column("Name", format="name", field="meta.v1.ObjectMeta.name")
AGE_COLUMN: Final = Column("Age", field="meta.v1.ObjectMeta.creationTimestamp")
#: Columns of workloads about the containers in their templates.
CONTAINERS_TEXT: Final = "Names of each container in the template."
IMAGES_TEXT: Final = "Images referenced by each container in the template."

_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_YEAR: Final = 365 * _DAY
#: Greatest duration of Go, whose subtraction of times saturates: 292 years.
_SECONDS_MAX: Final = ((1 << 63) - 1) // 1_000_000_000


def human_duration(duration: timedelta) -> str:
    """Return a duration in at most two units, finer the shorter it is. Upstream: ``duration.HumanDuration``.

    A little less than nothing counts as now: clocks differ.
    """
    seconds = min(int(duration.total_seconds()), _SECONDS_MAX)  # towards zero
    if seconds < -1:
        return "<invalid>"
    if seconds < 2 * _MINUTE:
        return f"{max(seconds, 0)}s"
    if seconds < 10 * _MINUTE:
        return _two_units(seconds, _MINUTE, "m", 1, "s")
    if seconds < 3 * _HOUR:
        return f"{seconds // _MINUTE}m"
    if seconds < 8 * _HOUR:
        return _two_units(seconds, _HOUR, "h", _MINUTE, "m")
    if seconds < 48 * _HOUR:
        return f"{seconds // _HOUR}h"
    if seconds < 8 * _DAY:
        return _two_units(seconds, _DAY, "d", _HOUR, "h")
    if seconds < 2 * _YEAR:
        return f"{seconds // _DAY}d"
    if seconds < 8 * _YEAR:
        return _two_units(seconds, _YEAR, "y", _DAY, "d")
    return f"{seconds // _YEAR}y"


def _two_units(seconds: int, large: int, large_unit: str, small: int, small_unit: str) -> str:
    rest = seconds % large // small
    return f"{seconds // large}{large_unit}" + (f"{rest}{small_unit}" if rest else "")


def parse_time(text: str | None) -> datetime | None:
    """Return a time of an object, None when there is none."""
    return datetime.fromisoformat(text) if text else None


def since(text: str | None, now: datetime) -> str:
    """Return the time since a timestamp, ``<unknown>`` without one."""
    time = parse_time(text)
    return human_duration(now - time) if time else UNKNOWN


def until(text: str | None, now: datetime) -> str:
    """Return the time until a timestamp, ``<unknown>`` without one."""
    time = parse_time(text)
    return human_duration(time - now) if time else UNKNOWN


def age(obj: Tree, now: datetime) -> str:
    """Return the object's age."""
    return since(obj["metadata"].get("creationTimestamp"), now)


def name_of(obj: Tree) -> str:
    """Return the object's name."""
    name: str = obj["metadata"].get("name", "")
    return name


def labels_text(labels: Mapping[str, str] | None) -> str:
    """Return labels, or a selector that is a plain map, as ``a=b,c=d`` sorted by key; ``<none>`` if empty."""
    if not labels:
        return NONE
    return ",".join(f"{key}={labels[key]}" for key in sorted(labels))


def selector_text(selector: Tree | None) -> str:
    """Return a LabelSelector in the form that kubectl's ``-l`` takes; ``<none>`` when it is absent or selects everything.

    Matching labels come as ``a=b``, requirements in order of their keys, values of ``in`` sorted.
    """
    if not selector:
        return NONE
    parts = [(key, f"{key}={value}") for key, value in sorted((selector.get("matchLabels") or {}).items())]
    for requirement in selector.get("matchExpressions") or ():
        text = _requirement_text(requirement)
        if text is None:
            return "<error>"
        parts.append((requirement["key"], text))
    parts.sort(key=lambda part: part[0])
    return ",".join(text for _, text in parts) or NONE


def _requirement_text(requirement: Tree) -> str | None:
    key, operator = requirement.get("key", ""), requirement.get("operator")
    values = ",".join(sorted(requirement.get("values") or ()))
    match operator:
        case "In":
            return f"{key} in ({values})"
        case "NotIn":
            return f"{key} notin ({values})"
        case "Exists":
            return str(key)
        case "DoesNotExist":
            return f"!{key}"
    return None


def container_names(spec: Tree | None) -> str:
    """Return the names of a pod spec's containers, joined by commas, without init containers."""
    return ",".join(container.get("name", "") for container in (spec or {}).get("containers") or ())


def container_images(spec: Tree | None) -> str:
    """Return the images of the containers of a pod spec, joined by commas."""
    return ",".join(container.get("image", "") for container in (spec or {}).get("containers") or ())


def access_modes_text(modes: Iterable[str] | None) -> str:
    """Return the abbreviated access modes without duplicates, in the order ``RWO,ROX,RWX,RWOP``."""
    present = set(modes or ())
    return ",".join(short for mode, short in _ACCESS_MODES if mode in present)


_ACCESS_MODES: Final = (
    ("ReadWriteOnce", "RWO"),
    ("ReadOnlyMany", "ROX"),
    ("ReadWriteMany", "RWX"),
    ("ReadWriteOncePod", "RWOP"),
)


def first_and_more(texts: Sequence[str], limit: int) -> str:
    """Return the first ``limit`` texts, and how many are left out."""
    joined = ",".join(texts[:limit])
    hidden = len(texts) - limit
    return f"{joined} + {hidden} more..." if hidden > 0 else joined


def storage_class_of(obj: Tree) -> str:
    """Return the storage class of a volume or claim; the annotation that preceded the field takes precedence."""
    annotations: dict[str, Any] = obj["metadata"].get("annotations") or {}
    beta = annotations.get("volume.beta.kubernetes.io/storage-class")
    if beta is not None:
        return str(beta)
    return str((obj.get("spec") or {}).get("storageClassName") or "")
