"""The client of the cluster, and waiting on its clock, by themselves."""

from __future__ import annotations

import pytest


@pytest.fixture
def client(cluster):
    return cluster.client


@pytest.fixture
def until(cluster):
    """``await until(condition)``: let time pass in small steps until it holds."""
    return cluster.until
