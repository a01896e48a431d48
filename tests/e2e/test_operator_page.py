"""The examples of docs/test-an-operator.md and examples/testing run, in a worker of xdist and in random order."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.busy_machine import LONG_HANG_SECONDS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "test-an-operator.md"
EXAMPLES = ROOT / "examples" / "testing"


def run_pytest(folder: Path, *arguments: str) -> str:
    # One worker: each imports four client libraries. tests/unit/testing/test_plugin.py has clusters in two.
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n", "1", "-W", "error::pytest.PytestWarning"]
    done = subprocess.run(
        [*command, *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=LONG_HANG_SECONDS
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on this machine")
def test_examples_of_the_page_and_for_client_libraries_pass(tmp_path: Path) -> None:
    """One run of pytest for both: its worker imports the client libraries and starts the template of clusters once."""
    folder = tmp_path / "examples" / "testing"
    shutil.copytree(EXAMPLES, folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "examples" / "greeter.py", tmp_path / "examples")
    blocks = re.findall(r"^```python\n# (\w+\.py)\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    for name, text in blocks:
        assert not (folder / name).exists()
        assert "async def test_" not in text, "needs a mode of pytest-asyncio that the page does not set"
        (folder / name).write_text(text)
    tests = sum(
        len(re.findall(r"^(?:async )?def test_", path.read_text(), re.MULTILINE)) for path in folder.glob("test_*.py")
    )
    assert f"{tests} passed" in run_pytest(folder, "-W", "ignore::UserWarning")
