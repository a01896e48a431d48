"""Random faults of a simulation, each decided by seed and occurrence, and their reduction. Pure.

An occurrence is the n-th request of one client with one verb for one resource. Its fault depends only on the seed and the
occurrence, so leaving out some faults does not change the others.
"""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steersman.testing.faults import FaultError, make_fault
from steersman.testing.trace import resource_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence

    from steersman.apiserver.request import RequestInfo
    from steersman.testing.faults import Fault

#: Faults of a watch before its next chunk, each a key of ``faults`` in addition to the fields of a fault: the connection
#: breaks, possibly within the chunk; the server ends the response; the watch ends with 410; the chunk arrives in two parts.
WATCH_FAULTS: Final = ("cut_watches", "end_watches", "expire_watches", "split_watches")
#: Default faults: each is rare, and controllers must tolerate all of them.
DEFAULT_FAULTS: Final[tuple[Mapping[str, Any], ...]] = (
    {"respond": 500, "probability": 0.02},
    {"respond": 429, "probability": 0.01},
    {"respond": 409, "verb": "update", "probability": 0.02},
    {"respond": "reset", "probability": 0.01},
    {"respond": "lose-answer", "verb": "create", "probability": 0.02},
    {"cut_watches": True, "probability": 0.005},
)
#: Bound of the runs of a reduction, which then returns its best result.
RUNS_MAX: Final = 100


class WatchFault(NamedTuple):
    """Fault of a chunk of a watch."""

    #: One of ``WATCH_FAULTS``.
    kind: str
    #: Part of the chunk that arrives before the fault, in [0, 1).
    part: float


class _Candidate(NamedTuple):
    """Entry of ``faults``, with the effect in the names of its occurrences."""

    effect: str
    fault: Fault


class FaultPlan:
    """Injector (see ``application``) of one run of a simulation."""

    def __init__(self, seed: int, faults: Iterable[Mapping[str, Any]], *, only: Collection[str] | None = None) -> None:
        """``only``: names of the occurrences that fail, and of the steps taken; None if the seed decides. Raises ``FaultError``."""
        self._seed = seed
        self._only = only
        self._requests: list[_Candidate] = []
        self._watches: list[_Candidate] = []
        for fields in faults:
            self._add(dict(fields))
        self._occurrences: Counter[str] = Counter()
        self._is_healed = False
        #: Names of the occurrences that failed, and of the steps, in order.
        self.injected: list[str] = []

    def _add(self, fields: dict[str, Any]) -> None:
        kinds = [kind for kind in WATCH_FAULTS if fields.pop(kind, False)]
        if not kinds:
            fault = make_fault(**fields)
            self._requests.append(_Candidate(str(fault.respond or f"delay {fault.delay_seconds:g} s"), fault))
        elif "respond" in fields:
            raise FaultError(f"respond: a fault of {kinds[0]} has no response")
        for kind in kinds:
            self._watches.append(_Candidate(kind.partition("_")[0], make_fault(respond="reset", **fields)))

    def heal(self) -> None:
        """Stop injecting faults."""
        self._is_healed = True

    def takes_step(self, number: int) -> bool:
        """Report whether a step of the test is taken; a reduction leaves out steps and faults."""
        name = f"step {number}"
        is_taken = self._only is None or name in self._only
        if is_taken:
            self.injected.append(name)
        return is_taken

    def select(self, info: RequestInfo, user_agent: str) -> Fault | None:
        """Return the fault of a request; None if it is served."""
        selected = self._select(self._requests, f"{info.verb} {resource_text(info) or info.path}", info, user_agent)
        return None if selected is None else selected[0].fault

    def watch_fault(self, info: RequestInfo, user_agent: str) -> WatchFault | None:
        """Return the fault of the next chunk of a watch; None if it is delivered."""
        request_text = f"piece of the watch of {resource_text(info)}"
        selected = self._select(self._watches, request_text, info, user_agent)
        if selected is None:
            return None
        candidate, name = selected
        part = self._draw(0, f"part of {name}")
        if candidate.effect == "cut":
            part = max(0.0, 2 * part - 1)  # every second connection breaks between two chunks
        return WatchFault(f"{candidate.effect}_watches", part)

    def _select(
        self, candidates: list[_Candidate], request_text: str, info: RequestInfo, user_agent: str
    ) -> tuple[_Candidate, str] | None:
        """Return the fault of a request or chunk, and the name of the occurrence."""
        if self._is_healed or not candidates:
            return None
        agent = _short(user_agent)
        self._occurrences[f"{request_text} by {agent}"] += 1
        occurrence = f"{request_text} by {agent} #{self._occurrences[f'{request_text} by {agent}']}"
        for number, candidate in enumerate(candidates):
            if not candidate.fault.matches_request(info, user_agent):
                continue
            name = f"{candidate.effect}: {occurrence}"
            if self._draw(number, name) < candidate.fault.probability and (self._only is None or name in self._only):
                self.injected.append(name)
                return candidate, name
        return None

    def _draw(self, number: int, name: str) -> float:
        """Return a number in [0, 1)."""
        text = f"{self._seed}\0{number}\0{name}"
        return int.from_bytes(blake2b(text.encode(), digest_size=7).digest()) / 2**56


def _short(user_agent: str) -> str:
    """Return the program name of a user agent, without version, and the controller in that of kube-controller-manager."""
    first = user_agent.partition("/")[0]
    last = user_agent.rpartition("/")[2]
    return f"{first}/{last}" if "steersman/" in user_agent and not last[:1].isdigit() else first


async def reduce_faults(
    faults: Sequence[str], fails: Callable[[Collection[str]], Awaitable[bool]], *, runs_max: int = RUNS_MAX
) -> list[str]:
    """Return a minimal subset of faults that still fails.

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
