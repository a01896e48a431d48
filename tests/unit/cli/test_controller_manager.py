"""The flags of the controller manager, and the command as a process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import msgspec
import pytest
import yaml
from tests.busy_machine import HANG_SECONDS
from tests.installed import install

from steersman.cli import components, controller_manager
from steersman.cli.controller_manager import parse, parser
from steersman.controllers import registry
from steersman.controllers.manager.options import ManagerOptions


def test_options_have_their_defaults_without_flags():
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


def test_coordinated_election_is_enabled_by_upstreams_feature_gate():
    assert parse(["--feature-gates=CoordinatedLeaderElection=true,NodeSwap=true"])[0].coordinated_leader_election


def test_feature_gates_without_effect_are_reported():
    assert parse(["--feature-gates=NodeSwap=true,AllAlpha=true"])[1].warnings == [
        "Setting GA feature gate NodeSwap=true. It will be removed in a future release.",
        "feature gate AllAlpha=true has no effect: Steersman keeps the default of Kubernetes 1.36",
    ]


def test_unknown_feature_gate_is_refused(capsys):
    with pytest.raises(SystemExit):
        parse(["--feature-gates=NoSuchGate=true"])
    assert "--feature-gates: unrecognized feature gate: NoSuchGate" in capsys.readouterr().err


def test_flags_without_effect_are_reported_once_with_the_reason():
    options, process = parse(["--contention-profiling", "--cluster-name", "a", "--cluster_name=b", "--port=0"])
    assert options == ManagerOptions(port=0)
    assert process.warnings == [
        "flag --contention-profiling has no effect: there is no Go runtime to profile",
        "flag --cluster-name has no effect: there are no cloud controllers; a cloud-controller-manager runs them",
    ]


def test_in_tree_cloud_provider_is_refused_as_upstream(capsys):
    with pytest.raises(SystemExit):
        parse(["--cloud-provider=aws"])
    assert "built-in cloud providers are disabled" in capsys.readouterr().err
    assert parse(["--cloud-provider=external"])[1].cloud_provider == "external"
    assert parse(["--cloud-provider="])[1].cloud_provider == ""


def test_repeated_controllers_add_up():
    arguments = ["--controllers", "-ttl,*", "--controllers=bootstrapsigner", "--controllers", "-podgc"]
    assert parse(arguments)[0].controllers == ("-ttl", "*", "bootstrapsigner", "-podgc")


def test_unknown_controller_is_refused_as_upstream(capsys):
    with pytest.raises(SystemExit):
        parse(["--controllers=*,-foo"])
    assert '"foo" is not in the list of known controllers' in capsys.readouterr().err


@pytest.mark.parametrize(
    "name",
    [
        "service-lb-controller", "node-route-controller", "cloud-node-lifecycle-controller",
        "service", "route", "cloud-node-lifecycle",
    ],
)  # fmt: skip
def test_names_of_cloud_controllers_are_accepted(name):
    assert parse([f"--controllers=*,-{name}"])[0].controllers == ("*", f"-{name}")


def test_help_names_all_controllers_and_those_off_by_default():
    text = " ".join(parser().format_help().split())
    assert "--concurrent-deployment-syncs" in text
    assert "(default 15s)" in text
    assert "All controllers: serviceaccount-token-controller, endpoints-controller," in text
    assert "Disabled-by-default controllers: bootstrap-signer-controller, token-cleaner-controller," in text


def run(*arguments, **more):
    command = [sys.executable, "-m", "steersman", "controller-manager", "--secure-port=0", *arguments]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **more)


@pytest.fixture
def anonymous(tmp_path):
    """A kubeconfig of a server that is not there."""
    config = {
        "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}], "users": [{"name": "u", "user": {}}],
    }  # fmt: skip
    (tmp_path / "config").write_text(yaml.safe_dump(config))
    return f"--kubeconfig={tmp_path}/config"


def test_controller_manager_reports_an_unreachable_server(anonymous):
    with run(anonymous) as process:
        _, err = process.communicate(timeout=HANG_SECONDS)
    assert process.returncode == 1
    assert "127.0.0.1" in err.splitlines()[-1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_controller_manager_ends_on_signal_while_it_waits_for_a_server(number, anonymous):
    with run(anonymous, "--v=1") as process:
        assert "waiting until the server" in process.stderr.readline()
        process.send_signal(number)
        process.communicate(timeout=HANG_SECONDS)
    assert process.returncode == 0


def test_controller_manager_ends_with_its_parent(anonymous):
    reading, writing = os.pipe()
    with run(anonymous, "--v=1", f"--parent-pipe={reading}", pass_fds=[reading]) as process:
        os.close(reading)
        assert "waiting until the server" in process.stderr.readline()
        os.close(writing)
        process.communicate(timeout=HANG_SECONDS)
    assert process.returncode == 0


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A directory that packages with controllers are installed into."""
    monkeypatch.syspath_prepend(str(tmp_path))
    registry.installed.cache_clear()
    yield tmp_path
    registry.installed.cache_clear()


def test_controllers_flag_accepts_controllers_of_installed_packages(site):
    install(site, "acme", idle_controller="Idle")
    assert parse(["--controllers=*,-idle-controller"])[0].controllers == ("*", "-idle-controller")


def test_help_lists_controllers_of_installed_packages(site):
    install(site, "acme", version="2.1", idle_controller="Idle")
    assert "Controllers of installed packages: idle-controller (acme 2.1)." in " ".join(parser().format_help().split())


def test_help_reports_packages_whose_controllers_cannot_be_used(site):
    install(site, "acme", job_controller="Idle")
    text = " ".join(parser().format_help().split())
    assert "Controllers of installed packages cannot be used: controller job-controller of acme 1.0" in text


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("broken_controller", "import no_such_module", "No module named 'no_such_module'"),
        ("job_controller", "", "Steersman has a controller of that name"),
    ],
)
def test_controller_manager_exits_on_a_broken_entry_point(site, capsys, name, text, reason):
    install(site, "acme", text=text, **{name: "Idle"})
    assert controller_manager.run(["--kubeconfig=/dev/null", "--controllers=*"]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"steersman: controller {name.replace('_', '-')} of acme 1.0")
    assert reason in error


def test_components_refuse_a_broken_entry_point(site, capsys):
    install(site, "acme", text="import no_such_module", broken_controller="Idle")
    assert components.run("components", ["--kubeconfig=/dev/null"]) == 1
    assert "controller broken-controller of acme 1.0" in capsys.readouterr().err


def test_controllers_flag_reports_names_of_packages_that_are_ambiguous(site, capsys):
    install(site, "acme", job_controller="Idle")
    with pytest.raises(SystemExit):
        parse(["--controllers=no-such-controller"])
    assert "job-controller of acme 1.0: Steersman has a controller of that name" in capsys.readouterr().err
