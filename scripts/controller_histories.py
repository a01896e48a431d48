"""Play random histories of controllers, and check that each comes to what the specs say.

    scripts/controller_histories.py --story replication --histories 500 --seed 1

Users edit, kubelets report, requests and watches fail, the manager crashes and is started anew. Then nothing goes wrong
any more. Exits with 1 at the first history that does not end well, and tells its seed. What it plays with is in
``tests/conformance/controllers``: a module ``NAME.py`` with a class ``Name`` is a story.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.conformance.controllers import harness
from tests.conformance.histories import command_line, play_all

#: Each has a test that plays a few histories of it.
STORIES = sorted(path.stem.removeprefix("test_") for path in Path(harness.__file__).parent.glob("test_*.py"))


def main() -> int:
    parser = command_line(__doc__, steps=harness.STEPS)
    parser.add_argument("--story", required=True, choices=STORIES)
    arguments = parser.parse_args()
    story = getattr(
        importlib.import_module(f"tests.conformance.controllers.{arguments.story}"), arguments.story.title()
    )
    return play_all(lambda seed: harness.play(story(), seed, steps=arguments.steps), arguments, name=arguments.story)


if __name__ == "__main__":
    sys.exit(main())
