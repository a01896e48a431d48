"""The snippets of the toolkit's pages run as they stand, against a started server."""

import ast
import re
from inspect import isawaitable
from pathlib import Path

import pytest

from steersman.client import connect
from steersman.testing import ControlPlane

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("toolkit.md", "toolkit-controllers.md")
SNIPPETS = {
    page: re.findall(r"^```python\n(.*?)^```$", (DOCS / page).read_text(), re.DOTALL | re.MULTILINE) for page in PAGES
}

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def cluster():
    with ControlPlane() as cluster:
        yield cluster


@pytest.mark.parametrize("page", PAGES)
def test_pages_have_snippets(page):
    assert len(SNIPPETS[page]) >= 4


@pytest.mark.parametrize(("page", "number"), [(page, n) for page in PAGES for n in range(len(SNIPPETS[page]))])
async def test_snippet_runs(page, number, cluster, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", str(cluster.kubeconfig))
    code = compile(SNIPPETS[page][number], str(DOCS / page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    async with connect() as client:
        running = eval(code, {"client": client, "__name__": "snippet"})
        assert isawaitable(running)
        await running
