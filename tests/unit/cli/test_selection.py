"""Choice of a control plane."""

import argparse
import os

import pytest

from steersman.cli.selection import SelectionError, default_kubeconfig, plane_name, running_plane, select_plane
from steersman.controlplane.running_planes import Announcement, RunningPlane, running_directory


def plane(name="", number=1):
    return RunningPlane(pid=os.getpid() + number, url=f"https://127.0.0.1:{number}", kubeconfig=f"/{number}", name=name)


@pytest.mark.parametrize("text", ["a", "dev-1", "0", "a" * 63])
def test_plane_name_accepts_labels(text):
    assert plane_name(text) == text


@pytest.mark.parametrize("text", ["", "A", "a_b", "-a", "a-", "a.b", "../x", "a" * 64])
def test_plane_name_refuses_what_is_no_label(text):
    with pytest.raises(argparse.ArgumentTypeError, match="RFC 1123 label"):
        plane_name(text)


def test_select_plane_takes_the_only_one_or_the_named_one():
    unnamed, dev = plane(), plane("dev", 2)
    assert select_plane([dev]) is dev
    assert select_plane([unnamed, dev], "dev") is dev


@pytest.mark.parametrize(
    ("planes", "name", "message"),
    [
        ([], None, "no control plane of yours runs here; steersman up starts one"),
        ([plane(), plane("dev", 2)], None, "2 control planes run here; choose one with --name\n  (unnamed) "),
        ([plane(), plane("dev", 2)], "test", r"no control plane named 'test' runs here; running: \(unnamed\), dev"),
        ([], "test", "no control plane named 'test' runs here; running: none"),
    ],
)
def test_select_plane_raises_with_a_reason(planes, name, message):
    with pytest.raises(SelectionError, match=message.replace("(unnamed) ", r"\(unnamed\) ")):
        select_plane(planes, name)


@pytest.fixture
def announced(tmp_path, monkeypatch):
    """Control planes that run."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    created = []

    def announce(item):
        created.append(Announcement.make(item, directory=running_directory()))

    yield announce
    for item in created:
        item.close()


def test_running_plane_and_default_kubeconfig_find_the_only_one(announced, monkeypatch):
    assert default_kubeconfig() is None
    announced(plane("dev"))
    assert running_plane().name == "dev"
    assert default_kubeconfig() == "/1"
    monkeypatch.setenv("KUBECONFIG", "/own")
    assert default_kubeconfig() is None


def test_default_kubeconfig_does_not_choose_among_several(announced):
    announced(plane("a"))
    announced(plane("b", 2))
    assert default_kubeconfig() is None
