"""Who is the best candidate, and by which rule: both independent of the order in which candidates are told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from steersman.controlplane.elections.objects import OLDEST_EMULATION_VERSION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.controlplane.elections.objects import Candidate


class Winner(msgspec.Struct, frozen=True):
    """The built-in strategy rules, and this candidate is the best by it."""

    name: str
    strategy: str = OLDEST_EMULATION_VERSION


class Foreign(msgspec.Struct, frozen=True):
    """A strategy rules that is somebody else's: they choose the holder."""

    strategy: str


class Conflict(msgspec.Struct, frozen=True):
    """Candidates of the newest binary version name different strategies."""

    #: Each with the first candidate, by name, that wants it.
    wanted: tuple[tuple[str, str], ...]


Outcome = Winner | Foreign | Conflict


def choose(candidates: Sequence[Candidate], *, holder: str) -> Outcome:
    """What an election among ``candidates`` (one at least) comes to.

    The strategy is the one that the newest binary version wants, as a newer program knows the older ones' rules.
    ``holder`` is who holds the Lease now: among equals, it stays.
    """
    newest = max(candidate.binary for candidate in candidates)
    wanted: dict[str, str] = {}
    for candidate in sorted(candidates, key=lambda one: one.name):
        if candidate.binary == newest:
            wanted.setdefault(candidate.strategy, candidate.name)
    if len(wanted) > 1:
        return Conflict(tuple(sorted(wanted.items())))
    (strategy,) = wanted
    if strategy != OLDEST_EMULATION_VERSION:
        return Foreign(strategy)
    return Winner(oldest_emulation_version(candidates, holder=holder).name)


def oldest_emulation_version(candidates: Sequence[Candidate], *, holder: str) -> Candidate:
    """The candidate with the oldest emulation version, then binary version, then the longest there.

    Creation times have whole seconds, so ties are no rarity: they go to ``holder``, else to the first by name.
    """
    return min(candidates, key=lambda one: (one.emulation, one.binary, one.created, one.name != holder, one.name))
