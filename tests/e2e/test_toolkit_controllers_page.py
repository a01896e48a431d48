"""The snippets of docs/toolkit-controllers.md run as they stand, against a started server."""

import ast
import re
from inspect import isawaitable
from pathlib import Path

import pytest

from steersman.client import connect
from steersman.testing import ControlPlane

PAGE = Path(__file__).parents[2] / "docs" / "toolkit-controllers.md"
SNIPPETS = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def cluster():
    with ControlPlane() as cluster:
        yield cluster


def test_the_page_has_snippets():
    assert len(SNIPPETS) >= 4


@pytest.mark.parametrize("snippet", SNIPPETS, ids=range(len(SNIPPETS)))
async def test_a_snippet_runs(snippet, cluster, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", str(cluster.kubeconfig))
    code = compile(snippet, str(PAGE), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    async with connect() as client:
        running = eval(code, {"client": client, "__name__": "snippet"})
        assert isawaitable(running)
        await running
