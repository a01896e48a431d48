"""Fixtures of tests with TLS."""

import pytest

from steersman.asynckit.clock import RealClock
from steersman.controlplane.pki import ensure_pki, server_names


@pytest.fixture(scope="module")
def pki(tmp_path_factory):
    return ensure_pki(tmp_path_factory.mktemp("pki"), server_names("10.0.0.0/24"), now=RealClock().now())
