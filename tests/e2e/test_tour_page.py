"""The console blocks of README.md and docs/tour.md: every command runs, and prints what the page shows."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from scripts.console_pages import ROOT, Terminal, comparable, entries
from scripts.record_tour import PAGES


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on this machine")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_console_blocks_show_the_output_of_their_commands(page: Path, tmp_path: Path) -> None:
    shown = entries(page.read_text())
    terminal = Terminal(tmp_path)
    try:
        outputs = [terminal.run(entry.command) for entry in shown]
        assert shown[-1].command == "steersman down"
        assert terminal.wait_stopped() == 0
    finally:
        terminal.close()
    differing = {
        entry.command: output
        for entry, output in zip(shown, outputs, strict=True)
        if comparable(output) != comparable("\n".join(entry.output))
    }
    assert differing == {}, "record the pages again: python -m scripts.record_tour"
