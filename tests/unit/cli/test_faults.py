"""``steersman faults`` against a cluster in another process."""

import pytest

from steersman.cli import faults
from steersman.testing import Cluster


@pytest.fixture(scope="module")
def cluster():
    with Cluster(nodes=0, controllers=[], scheduler=False) as started:
        yield started


@pytest.fixture
def run(cluster, capsys, monkeypatch):
    """Run the command; return exit code, output and errors."""
    monkeypatch.setenv("KUBECONFIG", f"{cluster.kubeconfig}:/other")

    def run(*arguments):
        try:
            code = faults.run(arguments)
        except SystemExit as exit_:
            code = exit_.code
        return code, *capsys.readouterr()

    yield run
    cluster.faults.clear()


def test_added_fault_is_listed_and_removed(run):
    code, out, err = run("add", "--verb=create", "--resource", "configmaps", "--respond=500", "--times=2", "--optional")
    fault, _, text = out.partition(": ")
    assert (code, text, err) == (0, "respond 500 to create configmaps\n", "")
    assert run("list")[1].endswith(f"{fault}: respond 500 to create configmaps (0 hits)\n")
    assert run("remove", fault.removeprefix("fault ")) == (0, f"{fault} is removed\n", "")
    assert run("list")[1].endswith(f"{fault}: respond 500 to create configmaps (0 hits, ended)\n")


def test_all_fields_of_a_fault_have_flags(run):
    fields = ("--verb=get", "--resource=pods", "--name=a", "--namespace=b", "--user-agent=c")
    text = "to get pods b/a by c\n"
    for flags in (("--delay=0.5", "--after=1", "--probability=0.5"), ("--stale=2",)):
        code, out, err = run("add", *fields, *flags, "--optional=true")
        assert (code, err) == (0, "")
        assert out.endswith(text)


def test_partition_lasts_until_all_are_cleared(run):
    code, out, _ = run("partition", "controller-manager")
    assert (code, out.partition(": ")[2]) == (0, "partition of controller-manager\n")
    assert run("clear") == (0, "all faults are removed\n", "")
    assert run("list")[1].splitlines()[-1].endswith("(0 hits, ended)")


@pytest.mark.parametrize("action", ["cut-watches", "expire-watches"])
def test_watches_end(run, action):
    assert run(action, "--resource=pods") == (0, "0 watches\n", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "ACTION"),
        (("break",), 'unknown action "break", expected one of add, partition'),
        (("list", "--verb=get"), "--verb is not a flag of list"),
        (("partition",), "partition needs a component or user agent"),
        (("list", "more"), 'unexpected argument "more"'),
        (("remove", "x"), '"x" is not the number of a fault'),
        (("add", "--times=0"), "times"),
        (("add", "--color=red"), "unknown flag: --color"),
    ],
)
def test_bad_command_line_is_a_usage_error(run, arguments, message):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert message in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("add", "--verb=get"), "a fault needs a response, a delay or stale reads"),
        (("add", "--respond=999"), "cannot respond 999"),
        (("remove", "99"), "there is no fault 99"),
    ],
)
def test_refused_fault_is_reported(run, arguments, message):
    code, out, err = run(*arguments)
    assert (code, out) == (1, "")
    assert message in err


def test_other_kubeconfig_is_reported(run, monkeypatch, tmp_path):
    assert "is not the kubeconfig of a running cluster" in run("list", f"--kubeconfig={tmp_path}/config")[2]
    monkeypatch.delenv("KUBECONFIG")
    assert "set $KUBECONFIG" in run("list")[2]


def test_cluster_that_has_ended_is_reported(run):
    with Cluster(nodes=0, controllers=[], scheduler=False) as other:
        kubeconfig = other.kubeconfig
    code, _, err = run("list", f"--kubeconfig={kubeconfig}")
    assert (code, "is not the kubeconfig of a running cluster" in err) == (1, True)


def test_fault_of_the_shell_is_one_of_the_cluster(run, cluster):
    run("add", "--verb=create", "--resource=configmaps", "--respond=reset", "--times=1")
    with pytest.raises(AssertionError, match="faults were not hit"):
        cluster.faults.check_leftover()
