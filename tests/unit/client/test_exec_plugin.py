"""Exec credential plugins."""

import json
import sys
from pathlib import Path

import pytest

from steersman.asynckit.clock import FakeClock, RealClock
from steersman.client.credentials import ConfigError
from steersman.client.exec_plugin import ExecPlugin, read_exec

V1 = "client.authentication.k8s.io/v1"


def plugin(script, **options):
    return ExecPlugin(command=sys.executable, api_version=V1, arguments=("-c", script), **options)


def read(entry, folder="/home/x"):
    return read_exec(entry, source="user 'a'", folder=Path(folder), cluster={"server": "https://x"})


async def test_run_passes_the_exec_info():
    script = "import os; print(os.environ['KUBERNETES_EXEC_INFO'], os.environ['MORE'])"
    output = await plugin(script, environment={"MORE": "5"}, cluster={"server": "https://x"}).run(clock=RealClock())
    info, more = output.decode().rsplit(None, 1)
    assert json.loads(info) == {
        "apiVersion": V1,
        "kind": "ExecCredential",
        "spec": {"interactive": False, "cluster": {"server": "https://x"}},
    }
    assert more == "5"


async def test_run_reports_the_error_output_of_a_failure():
    with pytest.raises(ConfigError, match="failed with exit code 3: no luck"):
        await plugin("import sys; sys.stderr.write('no luck'); sys.exit(3)").run(clock=RealClock())


async def test_run_reports_the_install_hint_of_a_missing_command():
    missing = ExecPlugin(command="/nowhere/plugin", api_version=V1, install_hint="get it from x")
    with pytest.raises(ConfigError, match=r"(?s)executable /nowhere/plugin cannot be started.*get it from x"):
        await missing.run(clock=FakeClock())


def test_read_exec_parses_all_fields():
    entry = {
        "apiVersion": V1,
        "command": "aws",
        "args": ["eks", 5],
        "env": [{"name": "A", "value": "b"}],
        "installHint": "hint",
        "provideClusterInfo": True,
    }
    assert read(entry) == ExecPlugin("aws", V1, ("eks", "5"), {"A": "b"}, "hint", {"server": "https://x"})


def test_read_exec_resolves_paths_relative_to_the_kubeconfig():
    assert read({"apiVersion": V1, "command": "./bin/a"}).command == "/home/x/bin/a"
    assert read({"apiVersion": V1, "command": "/bin/a"}).command == "/bin/a"
    assert read({"apiVersion": V1, "command": "a"}).command == "a"


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"apiVersion": V1}, "command must be specified"),
        ({"command": "a", "apiVersion": "client.authentication.k8s.io/v1alpha1"}, "invalid apiVersion"),
        ({"command": "a", "apiVersion": V1, "interactiveMode": "Always"}, "cannot support interactive mode"),
        ({"command": "a", "apiVersion": V1, "env": [{"value": "x"}]}, "env must be a list"),
        ({"command": "a", "apiVersion": V1, "args": 5}, "args a list"),
    ],
)
def test_read_exec_rejects_malformed_entries(entry, message):
    with pytest.raises(ConfigError, match=message):
        read(entry)
