"""Installation of pip into the environment that runs this, from the package index, with the standard library only."""

from __future__ import annotations

import html.parser
import os
import re
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
from pathlib import Path

INDEX = os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple").rstrip("/")
WHEEL = re.compile(r"pip-(\d+(?:\.\d+)*)-py3-none-any\.whl")


class Links(html.parser.HTMLParser):
    """Targets of a page's links, by file name."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        target = dict(attrs).get("href") if tag == "a" else None
        if target:
            self.targets[Path(urllib.parse.urlparse(target).path).name] = target


def main() -> int:
    page = f"{INDEX}/pip/"
    with urllib.request.urlopen(page, timeout=60) as answer:
        links = Links()
        links.feed(answer.read().decode())
    wheels = {tuple(map(int, match[1].split("."))): name for name in links.targets if (match := WHEEL.fullmatch(name))}
    name = wheels[max(wheels)]
    with tempfile.TemporaryDirectory() as directory:
        wheel = Path(directory) / name
        with urllib.request.urlopen(urllib.parse.urljoin(page, links.targets[name]), timeout=60) as answer:
            wheel.write_bytes(answer.read())
        command = [
            sys.executable,
            f"{wheel}/pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--no-index",
            str(wheel),
        ]
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
