"""Random faults of a simulation, each decided by seed and occurrence, and their reduction. Pure.

An occurrence is the n-th request of one client with one verb for one resource. Whether it fails follows from the seed
and the occurrence alone, so the other faults stay as they are when some are left out.
"""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

from steersman.testing.faults import FaultError, make_fault
from steersman.testing.trace import resource_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence

    from steersman.apiserver.request import RequestInfo
    from steersman.testing.faults import Fault

#: Fault of a watch whose connection breaks; a key of ``faults`` beside the fields of a fault.
CUT_WATCHES: Final = "cut_watches"
#: Faults unless others are given: each is rare, and controllers must survive all of them.
DEFAULT_FAULTS: Final[tuple[Mapping[str, Any], ...]] = (
    {"respond": 500, "probability": 0.02},
    {"respond": 429, "probability": 0.01},
    {"respond": 409, "verb": "update", "probability": 0.02},
    {"respond": "reset", "probability": 0.01},
    {"respond": "lose-answer", "verb": "create", "probability": 0.02},
    {CUT_WATCHES: True, "probability": 0.005},
)
#: A reduction ends after so many runs with what it has.
RUNS_MAX: Final = 100


class FaultPlan:
    """Injector (see ``application``) of one run of a simulation."""

    def __init__(self, seed: int, faults: Iterable[Mapping[str, Any]], *, only: Collection[str] | None = None) -> None:
        """``only``: names of the occurrences that fail; None: all that the seed decides. Raises ``FaultError``."""
        self._seed = seed
        self._only = only
        self._requests: list[Fault] = []
        self._watches: list[Fault] = []
        for fault in faults:
            fields = dict(fault)
            if fields.pop(CUT_WATCHES, False):
                if "respond" in fields:
                    raise FaultError(f"respond: a fault of {CUT_WATCHES} has no response")
                self._watches.append(make_fault(respond="reset", **fields))
            else:
                self._requests.append(make_fault(**fields))
        self._occurrences: Counter[str] = Counter()
        self._is_healed = False
        #: Names of the occurrences that failed, in order.
        self.injected: list[str] = []

    def heal(self) -> None:
        """Inject no more faults."""
        self._is_healed = True

    def select(self, info: RequestInfo, user_agent: str) -> Fault | None:
        """Return the fault of a request; None: it is served."""
        return self._select(self._requests, f"{info.verb} {resource_text(info) or info.path}", info, user_agent)

    def cuts(self, info: RequestInfo, user_agent: str) -> bool:
        """Report whether the connection of a watch breaks before its next piece."""
        what = f"piece of the watch of {resource_text(info)}"
        return self._select(self._watches, what, info, user_agent) is not None

    def _select(self, faults: list[Fault], what: str, info: RequestInfo, user_agent: str) -> Fault | None:
        if self._is_healed or not faults:
            return None
        agent = _short(user_agent)
        self._occurrences[f"{what} by {agent}"] += 1
        occurrence = f"{what} by {agent} #{self._occurrences[f'{what} by {agent}']}"
        for number, fault in enumerate(faults):
            if not fault.matches_request(info, user_agent):
                continue
            name = f"{fault.respond or f'delay {fault.delay_seconds:g} s'}: {occurrence}"
            if self._draw(number, name) < fault.probability and (self._only is None or name in self._only):
                self.injected.append(name)
                return fault
        return None

    def _draw(self, number: int, name: str) -> float:
        """Return a number from 0 up to, but not including, 1."""
        text = f"{self._seed}\0{number}\0{name}"
        return int.from_bytes(blake2b(text.encode(), digest_size=7).digest()) / 2**56


def _short(user_agent: str) -> str:
    """Return the first word of a user agent without versions, and the controller that kube-controller-manager names."""
    first = user_agent.partition("/")[0]
    last = user_agent.rpartition("/")[2]
    return f"{first}/{last}" if "steersman/" in user_agent and not last[:1].isdigit() else first


async def reduce_faults(
    faults: Sequence[str], fails: Callable[[Collection[str]], Awaitable[bool]], *, runs_max: int = RUNS_MAX
) -> list[str]:
    """Return a subset of faults that still fails, and of which none can be left out.

    ``fails`` runs the test with a subset. After ``runs_max`` runs the result is the smallest subset so far. The algorithm is
    ddmin (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002).
    """
    current, parts, runs = list(faults), 2, 0
    if await fails([]):
        return []
    while len(current) >= 2:
        size = max(1, len(current) // parts)
        chunks = [current[at : at + size] for at in range(0, len(current), size)]
        for chunk in chunks:
            rest = [fault for fault in current if fault not in chunk]
            if runs >= runs_max:
                return current
            runs += 1
            if rest and await fails(rest):
                current, parts = rest, max(parts - 1, 2)
                break
        else:
            if size == 1:
                return current
            parts = min(len(current), parts * 2)
    return current
