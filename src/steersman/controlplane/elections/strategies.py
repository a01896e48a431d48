"""Strategies of coordinated leader election: choice of the best candidate, independent of the order of candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from steersman.controlplane.elections.objects import OLDEST_EMULATION_VERSION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.controlplane.elections.objects import Candidate


class Winner(msgspec.Struct, frozen=True):
    """The built-in strategy applies, and this candidate is the best."""

    name: str
    strategy: str = OLDEST_EMULATION_VERSION


class ThirdPartyStrategy(msgspec.Struct, frozen=True):
    """The candidates use a strategy of another controller, which chooses the holder."""

    strategy: str


class StrategyConflict(msgspec.Struct, frozen=True):
    """Candidates of the newest binary version name different strategies."""

    #: Each strategy with the first candidate, by name, that requests it.
    strategies: tuple[tuple[str, str], ...]


Outcome = Winner | ThirdPartyStrategy | StrategyConflict


def choose(candidates: Sequence[Candidate], *, holder: str) -> Outcome:
    """Return the result of an election among ``candidates`` (at least one). Upstream: ``pickBestStrategy``.

    The newest binary version determines the strategy, as it knows the strategies of older versions. ``holder`` is the
    current holder of the Lease: it wins ties.
    """
    newest = max(candidate.binary for candidate in candidates)
    strategies: dict[str, str] = {}
    for candidate in sorted(candidates, key=lambda candidate: candidate.name):
        if candidate.binary == newest:
            strategies.setdefault(candidate.strategy, candidate.name)
    if len(strategies) > 1:
        return StrategyConflict(tuple(sorted(strategies.items())))
    (strategy,) = strategies
    if strategy != OLDEST_EMULATION_VERSION:
        return ThirdPartyStrategy(strategy)
    return Winner(oldest_emulation_version(candidates, holder=holder).name)


def oldest_emulation_version(candidates: Sequence[Candidate], *, holder: str) -> Candidate:
    """Return the candidate with the oldest emulation version, then the oldest binary version, then the oldest object.

    Creation timestamps have whole seconds, so ties are common: ``holder`` wins, else the first by name. Upstream:
    ``pickBestLeaderOldestEmulationVersion``.
    """
    return min(
        candidates,
        key=lambda candidate: (
            candidate.emulation,
            candidate.binary,
            candidate.created,
            candidate.name != holder,
            candidate.name,
        ),
    )
