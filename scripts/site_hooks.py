"""MkDocs hooks of the documentation site (``mkdocs.yml``): pages from outside ``docs/``, and links that leave it.

Pages are written so that their links work in a checkout. The site adds CHANGELOG.md and CONTRIBUTING.md as pages and keeps
only the text of links to other files of the repository, such as ``examples/``.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
#: Files of the repository's top folder that are pages of the site.
ADDED = ("CHANGELOG.md", "CONTRIBUTING.md")
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)#:\s]+)((?:#[^)\s]*)?)\)")


def rewrite_links(markdown: str, path: str, root: Path = ROOT) -> str:
    """Return the text of the page at ``path`` (relative to ``root``) with links as the site needs them.

    Links to pages stay. Links to existing files outside ``docs/`` become text; dead links stay, so that the build fails.
    """
    place = posixpath.dirname(path)
    page_place = posixpath.relpath(place or ".", "docs") if place.startswith("docs") else "."

    def replace(match: re.Match[str]) -> str:
        text, link, anchor = match.groups()
        target = posixpath.normpath(posixpath.join(place, link))
        if target in ADDED:
            return f"[{text}]({posixpath.relpath(target, page_place)}{anchor})"
        if target.startswith("docs/"):
            return f"[{text}]({posixpath.relpath(target.removeprefix('docs/'), page_place)}{anchor})"
        return text if (root / target).exists() else match[0]

    return _LINK.sub(replace, markdown)


def on_files(files: Any, config: Any) -> Any:
    """Add the pages from outside ``docs/``. MkDocs calls this with the collected files."""
    from mkdocs.structure.files import File  # noqa: PLC0415 — tests of the links need no MkDocs

    for name in ADDED:
        files.append(File.generated(config, name, content=(ROOT / name).read_text()))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Rewrite the links of a page. MkDocs calls this before it renders the page."""
    source = page.file.src_uri
    return rewrite_links(markdown, source if source in ADDED else f"docs/{source}")
