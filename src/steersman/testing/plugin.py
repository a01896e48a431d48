"""pytest plugin with a cluster fixture, loaded automatically from the installed package::

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
    """Provide a control plane in memory for the session (one per worker under pytest-xdist)."""
    from steersman.testing.cluster import ControlPlane  # noqa: PLC0415 — most sessions never ask for it

    with ControlPlane(whole=True) as cluster:
        yield cluster
