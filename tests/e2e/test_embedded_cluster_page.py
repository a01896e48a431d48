"""The examples of the page about embedded clusters run as they are printed."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from tests.busy_machine import LONG_HANG_SECONDS
from tests.e2e.test_guide_pages import blocks

if TYPE_CHECKING:
    from pathlib import Path


def test_examples_of_the_page_pass(tmp_path: Path) -> None:
    examples = blocks("docs/embedded-cluster.md", "python")
    text = "\n\n".join(examples)
    (tmp_path / "test_examples.py").write_text(text)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:randomly",
        "-o",
        "asyncio_mode=auto",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=LONG_HANG_SECONDS)
    assert f"{text.count('def test_')} passed" in done.stdout, done.stdout + done.stderr
