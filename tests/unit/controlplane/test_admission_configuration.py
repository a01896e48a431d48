from __future__ import annotations

import pytest

from steersman.controlplane.admission_configuration import read_admission_configuration
from steersman.controlplane.options import OptionError

HEAD = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\n"


def test_plugin_configuration_is_inline_or_in_files(tmp_path):
    (tmp_path / "limits.yaml").write_text("limits: [{type: Server}]")
    path = tmp_path / "config.yaml"
    path.write_text(HEAD + "plugins: [{name: A, configuration: {x: 1}}, {name: B, path: limits.yaml}, {name: C}]")
    assert read_admission_configuration(path) == {"A": {"x": 1}, "B": {"limits": [{"type": "Server"}]}}


def test_plugin_configuration_is_empty_without_a_file():
    assert read_admission_configuration(None) == {}


@pytest.mark.parametrize("text", ["{", "[]", "kind: AdmissionConfiguration", "apiVersion: v1\nkind: List"])
def test_malformed_configuration_is_rejected(tmp_path, text):
    path = tmp_path / "config.yaml"
    path.write_text(text)
    with pytest.raises(OptionError, match="admission-control-config-file"):
        read_admission_configuration(path)


@pytest.mark.parametrize("plugins", ["A", "{name: A}", "[A]", "[[A]]"])
def test_plugins_that_are_no_objects_are_rejected(tmp_path, plugins):
    path = tmp_path / "config.yaml"
    path.write_text(f"{HEAD}plugins: {plugins}")
    with pytest.raises(OptionError, match=r"^--admission-control-config-file: .*/config\.yaml: plugins must be a list"):
        read_admission_configuration(path)


@pytest.mark.parametrize(
    ("plugin", "fault"),
    [
        ("{name: A, configuration: [1]}", "the configuration of A must be an object"),
        ('{name: A, path: "a\\0b"}', "cannot read .*: embedded null"),
    ],
)
def test_malformed_plugin_is_rejected(tmp_path, plugin, fault):
    path = tmp_path / "config.yaml"
    path.write_text(f"{HEAD}plugins: [{plugin}]")
    with pytest.raises(OptionError, match=f"^--admission-control-config-file: .*{fault}"):
        read_admission_configuration(path)


def test_missing_file_is_rejected(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text(HEAD + "plugins: [{name: B, path: limits.yaml}]")
    with pytest.raises(OptionError, match=r"cannot read .*/limits\.yaml: no such file or directory$"):
        read_admission_configuration(path)
