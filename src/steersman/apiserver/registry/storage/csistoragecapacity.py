"""CSIStorageCapacities: how much a driver has left for a class, somewhere."""

from __future__ import annotations

from steersman.apiserver.registry.strategy import Strategy


class CSIStorageCapacityStrategy(Strategy):
    """No defaults, and no columns of its own."""

    group_resource = "csistoragecapacities.storage.k8s.io"
