"""Which controllers there are, and which of them run."""

from __future__ import annotations

import subprocess
import sys

import pytest

from steersman.controllers.registry import REGISTRY, Registration, find, is_enabled, unknown

ON = Registration("foo-controller", alias="foo")
OFF = Registration("bar-controller", alias="bar", on_by_default=False)


def test_names_and_aliases_are_unique():
    names = [name for entry in REGISTRY for name in (entry.name, entry.alias) if name]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("entry", [entry for entry in REGISTRY if entry.module], ids=lambda entry: entry.name)
def test_what_is_here_can_be_built(entry):
    assert callable(entry.build)


def test_what_is_not_here_says_so():
    with pytest.raises(ImportError, match="not part of this release"):
        _ = ON.build


@pytest.mark.parametrize(
    ("wanted", "on", "off"),
    [
        (["*"], True, False),
        ([], False, False),
        (["*", "-foo-controller"], False, False),
        (["*", "-foo", "bar"], False, True),
        (["bar-controller"], False, True),
        (["foo", "-foo"], True, False),
        (["-foo", "foo"], False, False),
        (["-bar", "*"], True, False),
    ],
)
def test_words_turn_controllers_on_and_off(wanted, on, off):
    """The first word that names a controller counts."""
    assert (is_enabled(ON, wanted), is_enabled(OFF, wanted)) == (on, off)


def test_a_controller_is_found_by_either_name():
    assert find("deployment") is find("deployment-controller")


def test_no_name_finds_none():
    assert find("") is None


def test_words_that_name_nothing_are_told():
    assert unknown(["*", "deployment", "-podgc", "nothing", "-none"]) == ["nothing", "-none"]


def test_preload_imports_the_modules_of_enabled_controllers_only():
    code = (
        "import sys; from steersman.controllers.registry import preload; preload(('job',));"
        "print(*[name for name in sys.modules if name.startswith('steersman.controllers.') and name.count('.') == 2])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "steersman.controllers.job" in loaded
    assert "steersman.controllers.cronjob" not in loaded
