"""Stages of simulated objects: a stage matches an object, lasts for a delay, then applies a transition (KWOK's
``Stage``).

If several stages match, one is chosen by weight. A change of the object before the transition is due selects the stage
again.
"""

from __future__ import annotations

from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from steersman.client.requests import PatchType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from random import Random

    from steersman.apimachinery.trees import Tree


class StageContext(NamedTuple):
    """Inputs of a transition except the object."""

    now: datetime
    #: Address of the node.
    host_ip: str = ""
    #: Address of the pod, allocated on demand.
    pod_ip: str = ""
    node_name: str = ""
    #: Port of the node's kubelet; 0 without a kubelet.
    node_port: int = 0
    #: Start time of the simulation.
    started: datetime | None = None
    #: Source of random functions in templates; None if unavailable.
    dice: Random | None = None
    #: Why containers cannot be created, by container.
    config_errors: Mapping[str, str] = MappingProxyType({})


class Outcome(NamedTuple):
    """Result of a transition: writes and events."""

    #: Patch of the object; None for no change.
    patch: Any = None
    patch_type: PatchType = PatchType.STRATEGIC
    #: Patched subresource.
    subresource: str = "status"
    #: True to delete the object with a grace period of 0.
    delete: bool = False
    #: Type, reason and message of an event about the object.
    event: tuple[str, str, str] | None = None
    #: Further events; a field path, e.g. ``spec.containers{c}``, comes last.
    events: tuple[tuple[str, str, str, str], ...] = ()
    #: Object of any kind that is applied server-side.
    applied: Any = None
    finalizers_added: tuple[str, ...] = ()
    finalizers_removed: tuple[str, ...] = ()
    finalizers_emptied: bool = False
    #: Outcome to apply next.
    then: Outcome | None = None
    #: Time of the next transition, if this one changes nothing. None: unknown.
    due: datetime | None = None

    @property
    def is_empty(self) -> bool:
        """True if the outcome writes and records nothing."""
        return self._replace(due=None) == Outcome()


class Delay(NamedTuple):
    """Duration of a stage, from the moment the object entered it, or the time that ``until`` returns."""

    seconds: float = 0.0
    #: Upper bound of the duration, which is drawn uniformly from ``seconds``. None: no jitter.
    jitter_seconds: float | None = None
    #: Read end or duration in seconds from the object; overrides ``seconds`` unless it returns None.
    until: Callable[[Tree, datetime], datetime | float | None] | None = None
    #: Read the upper bound from the object; overrides ``jitter_seconds`` unless it returns None.
    jitter_until: Callable[[Tree, datetime], datetime | float | None] | None = None
    #: True if changes of the object within the stage do not restart the delay.
    is_counted_once: bool = True

    def length_seconds(self, obj: Tree, *, now: datetime, dice: Random) -> float:
        """Return the delay from ``now``, with jitter."""
        least = _seconds(self.until, obj, now, self.seconds)
        most = _seconds(self.jitter_until, obj, now, self.jitter_seconds)
        if least is None or most is None or most <= least:
            return (least or 0.0) if most is None else most
        return dice.uniform(least, most)


def _seconds(
    read: Callable[[Tree, datetime], datetime | float | None] | None, obj: Tree, now: datetime, otherwise: float | None
) -> float | None:
    weights_or_none = read(obj, now) if read is not None else None
    if weights_or_none is None:
        return otherwise
    return max(
        0.0, (weights_or_none - now).total_seconds() if isinstance(weights_or_none, datetime) else weights_or_none
    )


class Stage(NamedTuple):
    """A named transition with the condition under which it applies."""

    name: str
    #: Report whether the stage applies to an object at a time.
    matches: Callable[[Tree, datetime], bool]
    transition: Callable[[Tree, StageContext], Outcome]
    delay: Delay = Delay()
    #: Relative weight among matching stages; a stage of weight 0 is chosen only if all have weight 0. A function reads it
    #: from the object, and returns None for an invalid value.
    weight: int | Callable[[Tree], int | None] = 1

    #: True if the transition applies ``StageContext.config_errors``; other stages of pods wait while errors exist.
    applies_config_errors: bool = False
    #: True if the transition writes the object's status; ``NodeController`` then does not report node statuses.
    writes_status: bool = False

    def weight_for(self, obj: Tree) -> int | None:
        """Return the weight for an object; None if invalid."""
        return self.weight if isinstance(self.weight, int) else self.weight(obj)


def choose(stages: Sequence[Stage], obj: Tree, *, now: datetime, dice: Random) -> Stage | None:
    """Choose a matching stage by weight; None if no stage matches."""
    matching = [stage for stage in stages if stage.matches(obj, now)]
    if len(matching) < 2:
        return matching[0] if matching else None
    weights_or_none = [stage.weight_for(obj) for stage in matching]
    weights = [max(0, weight or 0) for weight in weights_or_none]
    if any(weights):
        return dice.choices(matching, weights)[0]
    # Weight 0 precedes an invalid weight.
    return dice.choice(
        [stage for stage, weight in zip(matching, weights_or_none, strict=True) if weight is not None] or matching
    )
