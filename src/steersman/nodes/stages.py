"""Stages: while an object is like this, after so long it turns into that (as KWOK's ``Stage`` has it).

Of the stages that an object is in, one is chosen by weight. It is due a while after the object came to be so; when the
object changes before, it is looked at anew.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from steersman.client.requests import PatchType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

    Tree = dict[str, Any]


class Surroundings(NamedTuple):
    """What a stage may use beside the object."""

    now: datetime
    #: Address of the node.
    host_ip: str = ""
    #: Address that the pod has, or gets if it needs one.
    pod_ip: str = ""
    node_name: str = ""
    #: Port of the node's kubelet; 0: it has none.
    node_port: int = 0
    #: When nodes began to be simulated.
    started: datetime | None = None
    #: Source of random functions in templates; None: they are not available.
    dice: Random | None = None


class Outcome(NamedTuple):
    """What an object turns into."""

    #: The new status, as a patch of the object; None: as it is.
    patch: Any = None
    patch_type: PatchType = PatchType.STRATEGIC
    #: Subresource that the patch goes to.
    subresource: str = "status"
    #: The object is deleted, for good and at once.
    delete: bool = False
    #: Type, reason and message of an event about the object.
    event: tuple[str, str, str] | None = None
    #: Further events; a field path, such as ``spec.containers{c}``, comes last.
    events: tuple[tuple[str, str, str, str], ...] = ()
    #: An object that is applied server-side, whatever the stage is about.
    applied: Any = None
    finalizers_added: tuple[str, ...] = ()
    finalizers_removed: tuple[str, ...] = ()
    finalizers_emptied: bool = False
    #: What comes after all this.
    then: Outcome | None = None


class Delay(NamedTuple):
    """How long a stage lasts, from the moment the object came to be in it, or from the moment that ``until`` tells."""

    seconds: float = 0.0
    #: Up to which it may last, by chance; no longer in any case. None: ``seconds``.
    jitter_seconds: float | None = None
    #: When the stage ends, or how many seconds it lasts; takes the place of ``seconds`` where the object tells it.
    until: Callable[[Tree, datetime], datetime | float | None] | None = None
    #: The same for ``jitter_seconds``.
    jitter_until: Callable[[Tree, datetime], datetime | float | None] | None = None
    #: Whether it is counted once, as long as the object stays in the stage, whatever else changes.
    counts_once: bool = True

    def length_seconds(self, obj: Tree, *, now: datetime, dice: Random) -> float:
        """How long it is from now."""
        least = _seconds(self.until, obj, now, self.seconds)
        most = _seconds(self.jitter_until, obj, now, self.jitter_seconds)
        if least is None or most is None or most <= least:
            return (least or 0.0) if most is None else most
        return dice.uniform(least, most)


def _seconds(
    read: Callable[[Tree, datetime], datetime | float | None] | None, obj: Tree, now: datetime, otherwise: float | None
) -> float | None:
    told = read(obj, now) if read is not None else None
    if told is None:
        return otherwise
    return max(0.0, (told - now).total_seconds() if isinstance(told, datetime) else told)


class Stage(NamedTuple):
    """One rule of a life."""

    name: str
    #: True if an object is in this stage at a moment.
    matches: Callable[[Tree, datetime], bool]
    turns_into: Callable[[Tree, Surroundings], Outcome]
    delay: Delay = Delay()
    #: Of several stages that match, one is chosen in proportion; one without weight only when no other has any. An object
    #: may tell it; None then: it tells nonsense.
    weight: int | Callable[[Tree], int | None] = 1

    #: Whether it changes the object's status: nodes with such stages do not report their own.
    writes_status: bool = False

    def weight_for(self, obj: Tree) -> int | None:
        """Its weight for an object."""
        return self.weight if isinstance(self.weight, int) else self.weight(obj)


def choose(stages: Sequence[Stage], obj: Tree, *, now: datetime, dice: Random) -> Stage | None:
    """The stage that an object is in; None when it is in none and stays as it is."""
    fitting = [stage for stage in stages if stage.matches(obj, now)]
    if len(fitting) < 2:
        return fitting[0] if fitting else None
    told = [stage.weight_for(obj) for stage in fitting]
    weights = [max(0, weight or 0) for weight in told]
    if any(weights):
        return dice.choices(fitting, weights)[0]
    # Stages that weigh nothing come before those of which nobody knows what they weigh.
    return dice.choice([stage for stage, weight in zip(fitting, told, strict=True) if weight is not None] or fitting)
