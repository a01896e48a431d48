"""The command line."""

import re
import subprocess
import sys

import pytest

from steersman.cli.main import _SUGGESTIONS, main
from steersman.version import __version__


@pytest.mark.parametrize("arguments", [["--version"], ["version"]])
def test_version_is_printed(arguments, capsys):
    assert main(arguments) == 0
    assert capsys.readouterr().out.startswith(f"steersman {__version__} (Kubernetes v1.36")


def test_help_and_no_arguments_print_the_commands(capsys):
    assert main(["--help"]) == 0
    assert main([]) == 2
    assert capsys.readouterr().out.count("apiserver") == 2


def test_help_lists_every_command_once(capsys):
    main(["--help"])
    listed = re.findall(r"^  ([a-z-]+)(?:  |$)", capsys.readouterr().out, re.MULTILINE)
    assert sorted(listed) == sorted(set(_SUGGESTIONS) - {"help", "version"})


@pytest.mark.parametrize(
    ("arguments", "usage"),
    [
        (["help", "--help"], "usage: steersman COMMAND"),
        (["version", "--help"], "usage: steersman version"),
        (["kubectl", "--help"], "usage: steersman kubectl"),
    ],
)
def test_help_is_shown_without_a_control_plane(arguments, usage, capsys):
    assert main(arguments) == 0
    assert capsys.readouterr().out.startswith(usage)


def test_version_refuses_arguments(capsys):
    assert main(["version", "-x"]) == 2
    assert capsys.readouterr().err.startswith('steersman version: unexpected argument "-x"\n')


def test_help_of_a_command_is_shown(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["help", "status"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out.startswith("usage: steersman status")


def test_version_does_not_import_the_server():
    code = "import sys; from steersman.cli.main import main; main(['--version']); print('asyncio' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"
