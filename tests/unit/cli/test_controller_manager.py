"""The flags of the controller manager, and the command as a process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import msgspec
import pytest
import yaml

from steersman.cli.controller_manager import parse, parser
from steersman.controllers.manager.options import ManagerOptions


def test_without_flags_the_options_are_the_defaults():
    assert parse([])[0] == ManagerOptions()


def test_flags_are_named_as_kube_controller_managers(tmp_path):
    kubeconfig = tmp_path / "config"
    kubeconfig.touch()
    options, process = parse([
        "--controllers=*,-podgc,token-cleaner-controller", "--concurrent-rc-syncs=7", f"--kubeconfig={kubeconfig}", "--leader-elect=false",
        "--leader-elect-lease-duration=1m30s", "--use-service-account-credentials", "--kube-api-qps=2.5", "--v=3",
    ])  # fmt: skip
    assert msgspec.structs.asdict(options) == msgspec.structs.asdict(
        ManagerOptions(
            controllers=("*", "-podgc", "token-cleaner-controller"),
            concurrent_rc_syncs=7,
            kubeconfig=kubeconfig,
            leader_elect=False,
            leader_elect_lease_duration_seconds=90.0,
            use_service_account_credentials=True,
            kube_api_qps=2.5,
        )
    )
    assert process.v == 3


def test_coordinated_election_is_asked_for_as_upstream_does():
    assert parse(["--feature-gates=CoordinatedLeaderElection=true,NodeSwap=true"])[0].coordinated_leader_election


def test_feature_gates_without_effect_are_reported(capsys):
    parse(["--feature-gates=NodeSwap=true,AllAlpha=true"])
    assert capsys.readouterr().err.splitlines() == [
        "steersman: Setting GA feature gate NodeSwap=true. It will be removed in a future release.",
        "steersman: feature gate AllAlpha=true has no effect: Steersman keeps the default of Kubernetes 1.36",
    ]


def test_flags_without_effect_are_reported(capsys):
    options, _ = parse(["--secure-port=10257", "--profiling", "--bind-address", "0.0.0.0", "--port=0"])
    assert options == ManagerOptions(port=0)
    assert capsys.readouterr().err.splitlines() == [
        f"steersman: {flag} has no effect" for flag in ("--secure-port", "--profiling", "--bind-address")
    ]


def test_unsupported_flag_of_kube_controller_manager_is_refused(capsys):
    with pytest.raises(SystemExit):
        parse(["--cloud-provider=aws"])
    assert "--cloud-provider" in capsys.readouterr().err


def test_every_option_has_a_flag_with_help():
    text = parser().format_help()
    assert "--concurrent-deployment-syncs" in text
    assert "(default 15.0s)" in text


def run(*arguments, **more):
    command = [sys.executable, "-m", "steersman", "controller-manager", "--port=0", *arguments]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **more)


@pytest.fixture
def nobody(tmp_path):
    """A kubeconfig of a server that is not there."""
    config = {
        "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}], "users": [{"name": "u", "user": {}}],
    }  # fmt: skip
    (tmp_path / "config").write_text(yaml.safe_dump(config))
    return f"--kubeconfig={tmp_path}/config"


def test_a_server_that_does_not_answer_is_told(nobody):
    with run(nobody) as process:
        _, err = process.communicate(timeout=40)
    assert process.returncode == 1
    assert "127.0.0.1" in err.splitlines()[-1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_while_it_waits_for_a_server(number, nobody):
    with run(nobody, "--v=1") as process:
        assert "waiting until the server" in process.stderr.readline()
        process.send_signal(number)
        process.communicate(timeout=20)
    assert process.returncode == 0


def test_it_ends_with_the_process_that_started_it(nobody):
    reading, writing = os.pipe()
    with run(nobody, "--v=1", f"--parent-pipe={reading}", pass_fds=[reading]) as process:
        os.close(reading)
        assert "waiting until the server" in process.stderr.readline()
        os.close(writing)
        process.communicate(timeout=20)
    assert process.returncode == 0
