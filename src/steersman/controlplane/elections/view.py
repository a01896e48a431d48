"""Text view of elections: leaders, candidates, and the next step with its reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.controlplane.elections.liveness import call_roll
from steersman.controlplane.elections.objects import read_candidate, read_lease
from steersman.controlplane.elections.step import Assign, Create, Prefer, Publish, decide

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from steersman.apimachinery.trees import Tree
    from steersman.controlplane.elections.objects import Lease
    from steersman.controlplane.elections.step import Decision


_COLUMNS: Final = ("CANDIDATE", "EMULATION", "BINARY", "STRATEGY", "RENEWED", "STATE", "ROLE")
#: Text of each liveness.
_STATES: Final = (
    ("fresh", "answers"),
    ("stale", "to be asked"),
    ("waiting", "asked"),
    ("silent", "does not answer"),
)


def show_elections(leases: Iterable[Tree], candidates: Iterable[Tree], *, now: datetime) -> str:
    """Return a table per Lease with candidates, with the step that would be taken now."""
    contested: dict[tuple[str, str], list[Tree]] = {}
    for candidate in candidates:
        name = (candidate.get("spec") or {}).get("leaseName") or ""
        contested.setdefault((candidate["metadata"].get("namespace") or "", name), []).append(candidate)
    by_key = {(lease["metadata"].get("namespace") or "", lease["metadata"]["name"]): lease for lease in leases}
    parts = [_show(key, by_key.get(key), group, now) for key, group in sorted(contested.items())]
    return "\n".join(parts) if parts else "no candidates, so no elections\n"


def _show(key: tuple[str, str], lease_tree: Tree | None, candidates: Sequence[Tree], now: datetime) -> str:
    lease = None if lease_tree is None else read_lease(lease_tree)
    decision = decide(lease, map(read_candidate, candidates), now=now)
    lines = [f"{'/'.join(key)}: {_leader(lease, now)}", *_table(_rows(lease, candidates, now))]
    return "\n".join([*lines, f"  next: {_next(decision, now)}", f"  why:  {decision.reason}: {decision.message}", ""])


def _leader(lease: Lease | None, now: datetime) -> str:
    if lease is None:
        return "no Lease"
    if not lease.holder:
        return f"no leader ({lease.strategy or 'no strategy'})"
    remaining_seconds = (lease.expires - now).total_seconds()
    state = f"for {remaining_seconds:.0f} s more" if remaining_seconds > 0 else "but did not renew in time"
    handover = f", asked to leave it to {lease.preferred}" if lease.preferred else ""
    return f"{lease.holder} leads {state} ({lease.strategy or 'classic'}){handover}"


def _rows(lease: Lease | None, candidates: Sequence[Tree], now: datetime) -> Iterator[tuple[str, ...]]:
    roll = call_roll(map(read_candidate, candidates), lease, now=now)
    states = {candidate.name: text for liveness, text in _STATES for candidate in getattr(roll, liveness)}
    for tree in sorted(candidates, key=lambda candidate: str(candidate["metadata"]["name"])):
        candidate, spec = read_candidate(tree), tree.get("spec") or {}
        age = None if candidate.renewed is None else (now - candidate.renewed).total_seconds()
        role = {lease.holder: "leader", lease.preferred: "preferred"}.get(candidate.name, "") if lease else ""
        yield (
            candidate.name,
            spec.get("emulationVersion") or "-",
            spec.get("binaryVersion") or "-",
            candidate.strategy or "-",
            "never" if age is None else f"{max(age, 0):.0f} s ago",
            states.get(candidate.name, "expired"),
            role or "-",
        )


def _table(rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    table = [_COLUMNS, *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _next(decision: Decision, now: datetime) -> str:
    parts = []
    match decision.write:
        case Create(holder) if holder:
            parts.append(f"make the Lease, with {holder} as its holder")
        case Create():
            parts.append("make the Lease, without a holder")
        case Assign(holder):
            parts.append(f"give the Lease to {holder}")
        case Prefer(holder) if holder:
            parts.append(f"ask the holder to leave it to {holder}")
        case Prefer():
            parts.append("clear the preferred holder")
        case Publish(strategy):
            parts.append(f"publish the strategy {strategy}")
        case None:
            pass
    if decision.ask:
        parts.append(f"ask {', '.join(decision.ask)} whether they live")
    if not parts:
        parts.append("nothing")
    if decision.next_check is not None:
        parts.append(f"look again in {(decision.next_check - now).total_seconds():.1f} s")
    return ", ".join(parts)
