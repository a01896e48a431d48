"""Bodies under a YAML media type."""

from __future__ import annotations

import subprocess
import sys

import pytest

from steersman.apimachinery.yaml_codec import decode_yaml


def test_decode_yaml_of_json_drops_the_fraction_of_whole_floats() -> None:
    document = decode_yaml(b'{"a": [2.0, 2.5, "3.0"], "b": {}}')
    assert document.tree == {"a": [2, 2.5, "3.0"], "b": {}}
    assert isinstance(document.tree["a"][0], int)


@pytest.mark.parametrize("raw", [b"a: 1\na: 2\n", b'{"a": 1,\n"a": 2}'])
def test_decode_yaml_reports_duplicate_keys_and_keeps_the_last(raw: bytes) -> None:
    document = decode_yaml(raw)
    assert document.tree == {"a": 2}
    assert document.duplicates == ['line 2: key "a" already set in map']
    assert document.strict_error() == 'yaml: unmarshal errors:\n  line 2: key "a" already set in map'


def test_strict_error_is_empty_without_duplicate_keys() -> None:
    assert decode_yaml(b"a: 1").strict_error() == ""


def test_decode_yaml_reads_json_without_pyyaml() -> None:
    code = "import sys; from steersman.apimachinery.yaml_codec import decode_yaml; decode_yaml(b'{}'); print('yaml' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
