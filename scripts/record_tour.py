"""Record the console blocks of README.md and docs/tour.md, and draw docs/tour.svg.

``python -m scripts.record_tour`` runs the commands of each page against a control plane of its own and writes their
output below them. Needs kubectl and rich. ``tests/e2e/test_tour_page.py`` compares the pages with a run.
"""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

from scripts.console_pages import ROOT, entries, replace_outputs, run_page

TOUR = ROOT / "docs" / "tour.md"
PAGES = (ROOT / "README.md", TOUR)
#: Commands of the picture, by prefix; all of them would be too long.
_SHOWN = (
    "steersman up", "kubectl get nodes", "kubectl create deployment", "kubectl get pods", "kubectl drain",
    "kubectl scale", "steersman status", "steersman down",
)  # fmt: skip
_LINES_MAX = 12


def draw(commands: list[str], outputs: list[str]) -> str:
    """Return a picture of a terminal as SVG."""
    from rich.console import Console  # noqa: PLC0415 — the test of the pages needs no rich
    from rich.text import Text  # noqa: PLC0415 — as above

    console = Console(record=True, width=118, file=io.StringIO())
    for command, output in zip(commands, outputs, strict=True):
        if not command.startswith(_SHOWN):
            continue
        console.print(Text.assemble(("$ ", "bold green"), (command, "bold")))
        lines = output.splitlines()
        hidden = len(lines) - _LINES_MAX
        more = [f"… {hidden} more lines"] if hidden > 0 else []
        shown = Text("\n".join([*lines[:_LINES_MAX], *more]))
        console.print(shown, soft_wrap=False, overflow="ellipsis", no_wrap=True)
    return console.export_svg(title="steersman", unique_id="tour")


def main() -> None:
    for page in PAGES:
        text = page.read_text()
        with tempfile.TemporaryDirectory() as home:
            outputs = run_page(text, Path(home))
        page.write_text(replace_outputs(text, outputs))
        if page == TOUR:
            (ROOT / "docs" / "tour.svg").write_text(draw([entry.command for entry in entries(text)], outputs))


if __name__ == "__main__":
    main()
