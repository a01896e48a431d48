"""Play random histories of controllers, and check that each ends in the state that the specs require.

    scripts/controller_histories.py --scenario replication --histories 500 --seed 1

Users edit, kubelets report, requests and watches fail, the manager crashes and is restarted. Then the faults stop. Exits
with 1 at the first failing history, and prints its seed. Scenarios are in ``tests/conformance/controllers``: a module
``NAME.py`` with a class ``Name``.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.conformance.controllers import harness
from tests.conformance.histories import command_line, play_all

#: Each has a test that plays a few histories of it.
SCENARIOS = sorted(path.stem.removeprefix("test_") for path in Path(harness.__file__).parent.glob("test_*.py"))


def main() -> int:
    parser = command_line(__doc__, steps=harness.STEPS)
    parser.add_argument("--scenario", required=True, choices=SCENARIOS)
    arguments = parser.parse_args()
    scenario = getattr(
        importlib.import_module(f"tests.conformance.controllers.{arguments.scenario}"), arguments.scenario.title()
    )
    return play_all(
        lambda seed: harness.play(scenario(), seed, steps=arguments.steps), arguments, name=arguments.scenario
    )


if __name__ == "__main__":
    sys.exit(main())
