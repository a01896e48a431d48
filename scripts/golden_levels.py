"""Replay recorded behaviour of kube-apiserver, area by area, and check that no area falls below its level.

    python scripts/golden_levels.py                 # the areas in .ci/golden-levels.json
    python scripts/golden_levels.py --raise         # and record improvements (levels are never lowered)
    python scripts/golden_levels.py --raise crud    # also an area that is not in the file yet
    python scripts/golden_levels.py --etcd crud     # on an etcd member, each server below a prefix of its own

The scenarios are beside the checkout (``../shared/golden``) and not part of it. Each area is replayed against a new API
server, or against a new control plane if it needs controllers or the scheduler. Steps that race with controllers may
match exactly or not: scenarios of an area that falls back are replayed again, and the best attempt counts; a lost rule
fails in every attempt. Responses of an API server alone count at the first attempt. Exit code 1 when an area falls back.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steersman.client import connect, tree
from steersman.testing import ControlPlane

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[1]
LEVELS = ROOT / ".ci" / "golden-levels.json"
#: Counts of an area: scenarios at level ``body``, and steps at ``exact`` and at ``body``.
COUNTS = ("scenarios", "exact", "body")
#: Attempts of scenarios with controllers in an area that falls back.
TRIES = 3
#: The recorded kube-apiserver had its default admission plugins; ``steersman up`` has ``NodeRestriction`` as well.
RECORDED_FLAGS = ("--disable-admission-plugins=NodeRestriction",)
#: Scenarios that observe each other's nodes.
ONE_AT_A_TIME = frozenset({"scheduler"})

_NEEDS = re.compile(r"^needs: *\[.*(controllers|scheduler).*\]", re.MULTILINE)


def replay(
    golden: Path, area: str, *, jobs: int, output: Path, again: bool, storage: Callable[[], tuple[str, ...]]
) -> dict[str, Any]:
    """Return the tool's report of one area by scenario, and write its output to ``<area>.log``.

    Recordings of an API server alone are replayed against one, but not ``again``; the others against a whole
    control plane without simulated nodes. ``storage`` returns the flags of a new store; none of them: in memory.
    """
    scenarios = sorted((golden / "scenarios" / area).glob("*.yaml"))
    needing = [path for path in scenarios if _NEEDS.search(path.read_text())]
    answers: dict[str, Any] = {}
    if len(needing) < len(scenarios) and not again:
        flags = storage()
        with ControlPlane(ephemeral=not flags, arguments=flags) as server:
            answers |= ask(server, golden, area, f"{area}", output, jobs=jobs)
    if needing:
        flags = storage()
        with ControlPlane(whole=True, nodes=0, ephemeral=not flags, arguments=(*RECORDED_FLAGS, *flags)) as server:
            asyncio.run(controllers_work(server))
            alone = 1 if area in ONE_AT_A_TIME else jobs
            more = ["--with", "controllers,scheduler", "--only-needing"]
            answers |= ask(server, golden, area, f"{area}.whole", output, *more, jobs=alone)
    return answers


async def controllers_work(server: ControlPlane) -> None:
    """Wait until the last controller works: that of quotas, which discovers all resources first."""
    quotas = tree("v1", "ResourceQuota")
    sample = {"metadata": {"name": "sample", "namespace": "default"}, "spec": {"hard": {"pods": "1"}}}
    async with connect(server.kubeconfig) as client, asyncio.timeout(60), client.watch(quotas) as changes:
        await client.create({"apiVersion": "v1", "kind": "ResourceQuota", **sample})
        async for change in changes:
            if change.type == "MODIFIED" and change.object.get("status"):
                break
        await client.delete(quotas, "sample", namespace="default")


def ask(
    server: ControlPlane, golden: Path, area: str, name: str, output: Path, *flags: str, jobs: int
) -> dict[str, Any]:
    """Run the tool once."""
    report = output / f"{name}.json"
    command = [
        *(sys.executable, str(golden / "golden.py"), "replay"),
        *(f"--server={server.url}", f"--token={server.token}", f"--ca={server.ca}"),
        *("--level", "body", "--jobs", str(jobs), "--json", str(report), *flags),
        str(golden / "scenarios" / area),
    ]
    with (output / f"{name}.log").open("w") as log:
        subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, check=False, timeout=900)
    (output / f"{name}.server.log").write_text(server.log)
    return json.loads(report.read_text()) if report.exists() else {}


def better(report: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Return for each scenario the attempt with the higher level."""
    return {name: max(one, other.get(name, one), key=_reach) for name, one in {**other, **report}.items()}


def _reach(scenario: dict[str, Any]) -> tuple[bool, int]:
    return scenario["passed"], scenario["levels"].count("exact")


def count(report: dict[str, Any]) -> dict[str, int]:
    """Return the counts of an area."""
    steps = [level for scenario in report.values() for level in scenario["levels"]]
    return {
        "scenarios": sum(scenario["passed"] for scenario in report.values()),
        "exact": steps.count("exact"),
        "body": steps.count("exact") + steps.count("body"),
        "of_scenarios": len(report),
        "of_steps": len(steps),
    }


def lost(reached: dict[str, int], before: dict[str, int]) -> list[str]:
    """Return the steps that an area had reached before and did not reach now."""
    return [f"{name} was {before[name]}" for name in COUNTS if reached[name] < before.get(name, 0)]


def line(area: str, reached: dict[str, int], before: dict[str, int]) -> str:
    """Return one line of the table."""
    text = (
        f"{area:24} {reached['scenarios']:4} of {reached['of_scenarios']:4} scenarios,"
        f" {reached['exact']:5} exact and {reached['body']:5} body of {reached['of_steps']:5} steps"
    )
    won = any(reached[name] > before.get(name, 0) for name in COUNTS)
    less = lost(reached, before)
    return f"{text}  FELL BACK: {', '.join(less)}" if less else f"{text}  better" if won else text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("areas", nargs="*", help="default: all in the file")
    parser.add_argument("--golden", type=Path, default=ROOT.parent / "shared" / "golden")
    parser.add_argument("--raise", dest="higher", action="store_true", help="write down what got better")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--output", type=Path, help="folder for reports and logs; default: a temporary one")
    parser.add_argument("--etcd", action="store_true", help="keep the objects on an etcd member")
    arguments = parser.parse_args()
    if not arguments.etcd:
        return replay_areas(arguments, tuple)
    sys.path.insert(0, str(ROOT))
    from scripts.etcd_cluster import EtcdCluster  # noqa: PLC0415 — needs the path

    prefixes = itertools.count()
    with EtcdCluster() as cluster:
        return replay_areas(
            arguments, lambda: (f"--etcd-servers={cluster.urls[0]}", f"--etcd-prefix=/r{next(prefixes)}/registry")
        )


def replay_areas(arguments: argparse.Namespace, storage: Callable[[], tuple[str, ...]]) -> int:
    """Replay the areas of the command line and return the exit code."""
    recorded_levels: dict[str, dict[str, int]] = json.loads(LEVELS.read_text()) if LEVELS.exists() else {}
    output = arguments.output or Path(tempfile.mkdtemp(prefix="golden-"))
    output.mkdir(parents=True, exist_ok=True)
    fell: list[str] = []
    for area in arguments.areas or sorted(recorded_levels):
        before = recorded_levels.get(area, {})
        report: dict[str, Any] = {}
        for number in range(TRIES):
            place = output / f"again-{number}" if number else output
            place.mkdir(exist_ok=True)
            report = better(
                report,
                replay(arguments.golden, area, jobs=arguments.jobs, output=place, again=number > 0, storage=storage),
            )
            reached = count(report)
            print(line(area, reached, before), flush=True)
            if not lost(reached, before):
                break
        else:
            fell.append(area)
        if arguments.higher:
            recorded_levels[area] = {name: max(reached[name], before.get(name, 0)) for name in COUNTS}
    if arguments.higher:
        LEVELS.write_text(json.dumps(recorded_levels, indent=2, sort_keys=True) + "\n")
    print(f"reports and logs are in {output}")
    if fell:
        print(f"fell back: {', '.join(fell)}")
    return 1 if fell else 0


if __name__ == "__main__":
    sys.exit(main())
