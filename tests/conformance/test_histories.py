"""Smoke tests of the scripts that play histories. Long runs: ``scripts/controller_histories.py --scenario NAME``."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.busy_machine import LONG_HANG_SECONDS

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.mark.parametrize(
    "command",
    [("controller_histories.py", "--scenario", "namespaces"), ("scheduler_histories.py",)],
    ids=lambda words: words[0],
)
def test_script_plays_the_given_number_of_histories(command):
    script, *more = command
    run = subprocess.run(
        [sys.executable, SCRIPTS / script, *more, "--histories", "1", "--seed", "3", "--steps", "5"],
        check=False, capture_output=True, text=True, timeout=LONG_HANG_SECONDS,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert "1 histories ended well" in run.stdout


def test_script_rejects_an_unknown_scenario():
    words = [sys.executable, SCRIPTS / "controller_histories.py", "--scenario", "nix"]
    run = subprocess.run(words, check=False, capture_output=True, text=True, timeout=LONG_HANG_SECONDS)
    assert run.returncode == 2
    assert "invalid choice: 'nix'" in run.stderr
