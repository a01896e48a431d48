"""The pytest plugin. With the package installed, a test asks for the fixture and has a cluster::

def test_my_operator(steersman_cluster):
config = kubernetes.config.new_client_from_config(str(steersman_cluster.kubeconfig))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.testing.cluster import ControlPlane


@pytest.fixture(scope="session")
def steersman_cluster() -> Iterator[ControlPlane]:
    """One whole control plane for the session (under pytest-xdist: one a worker), kept in memory."""
    from steersman.testing.cluster import ControlPlane  # noqa: PLC0415 — most sessions never ask for it

    with ControlPlane(whole=True) as cluster:
        yield cluster
