"""The command line."""

import subprocess
import sys

import pytest

from steersman.cli.main import main
from steersman.version import __version__


@pytest.mark.parametrize("arguments", [["--version"], ["version"]])
def test_version_is_printed(arguments, capsys):
    assert main(arguments) == 0
    assert capsys.readouterr().out.startswith(f"steersman {__version__} (Kubernetes v1.36")


def test_help_and_no_arguments_print_the_commands(capsys):
    assert main(["--help"]) == 0
    assert main([]) == 2
    assert capsys.readouterr().out.count("apiserver") == 2


def test_help_of_a_command_is_shown(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["help", "status"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out.startswith("usage: steersman status")


def test_version_does_not_import_the_server():
    code = "import sys; from steersman.cli.main import main; main(['--version']); print('asyncio' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"
