"""Versions in order."""

import pytest

from steersman.controlplane.elections.versions import ZERO, parse_version


def test_parse_version_orders_semantic_versions():
    texts = ["1.9.0", "1.10.0-alpha.1", "1.10.0-alpha.beta", "1.10.0-beta.2", "1.10.0-beta.11", "1.10.0", "2.0.0"]
    assert sorted(set(texts), key=parse_version) == texts


def test_parse_version_ignores_build_metadata():
    assert parse_version("1.36.0+abc") == parse_version("v1.36.0") == parse_version("1.36")


@pytest.mark.parametrize("text", ["", "x", "1.x", "1.2.3.4", "-1.0.0"])
def test_parse_version_sorts_malformed_versions_first(text):
    assert parse_version(text) == ZERO < parse_version("0.0.0")
