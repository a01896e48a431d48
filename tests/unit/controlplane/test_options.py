"""Default paths of options."""

from pathlib import Path

from steersman.controlplane.options import default_data_dir


def test_state_directory_follows_the_xdg_specification(monkeypatch):
    monkeypatch.setenv("HOME", "/home/alice")
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert default_data_dir() == Path("/state/steersman")
    assert default_data_dir("dev") == Path("/state/steersman/named/dev")
    monkeypatch.setenv("XDG_STATE_HOME", "relative is ignored")
    assert default_data_dir() == Path("/home/alice/.local/state/steersman")
