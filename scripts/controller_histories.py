"""Play random histories of controllers, and check that each ends in the state that the specs require.

    scripts/controller_histories.py --scenario replication --histories 500 --seed 1

Users edit, kubelets report, requests and watches fail, the manager crashes and is restarted. Then the faults stop. Exits
with 1 at the first failing history, and prints its seed. Scenarios are in ``tests/conformance/controllers``: a module
``NAME.py`` with a class ``Name``.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.conformance.controllers import harness
from tests.conformance.controllers.scenarios import NAMES, scenario
from tests.conformance.histories import command_line, play_all


def main() -> int:
    parser = command_line(__doc__, steps=harness.STEPS)
    parser.add_argument("--scenario", required=True, choices=NAMES)
    arguments = parser.parse_args()
    name = arguments.scenario
    return play_all(lambda seed: harness.play(scenario(name), seed, steps=arguments.steps), arguments, name=name)


if __name__ == "__main__":
    sys.exit(main())
