"""Provider for the pytest plugin ``pytest-kubernetes``: its fixture ``k8s`` becomes a cluster of the test kit.

In ``conftest.py``::

    from steersman.testing.pytest_kubernetes_provider import SteersmanManager

    @pytest.fixture(scope="session")
    def k8s_manager():
        return lambda provider=None: SteersmanManager

Interface: ``pytest_kubernetes.providers.base.AClusterManager`` (version 0.9).
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from pytest_kubernetes.providers.base import AClusterManager

from steersman.testing.kit.cluster import Cluster


class SteersmanManager(AClusterManager):  # type: ignore[misc]  # the package has no types
    """Manager of one cluster. ``create`` takes the options of ``Cluster`` by name."""

    _cluster: Cluster | None = None

    @classmethod
    def get_binary_name(cls) -> str:
        """Return the name of the program; it is not started."""
        return "steersman"

    def _ensure_executable(self) -> None:
        """Accept any environment: the cluster is a Python package."""

    def create(self, cluster_options: Any = None, timeout: int = 20, **options: Any) -> None:
        """Create the cluster, which is ready when this returns; ``timeout`` is without effect."""
        if self._cluster is not None:
            return
        if cluster_options is not None:
            self._cluster_options: Any = self._cluster_options | cluster_options
        self._on_create(self._cluster_options, **options)

    def _on_create(self, cluster_options: Any, **options: Any) -> None:
        self._cluster = Cluster(**options)
        path = cluster_options.kubeconfig_path
        if not path:
            with tempfile.NamedTemporaryFile(prefix="steersman-kubeconfig-", delete=False) as file:
                path = cluster_options.kubeconfig_path = Path(file.name)
        shutil.copyfile(self._cluster.kubeconfig, path)

    def ready(self, timeout: int = 20) -> bool:
        """Report whether the cluster runs."""
        return self._cluster is not None

    def delete(self) -> None:
        """Stop the cluster and remove its kubeconfig. Idempotent."""
        self._on_delete()
        if self.kubeconfig is not None:
            self.kubeconfig.unlink(missing_ok=True)
            self._cluster_options.kubeconfig_path = None

    def _on_delete(self) -> None:
        cluster, self._cluster = self._cluster, None
        if cluster is not None:
            cluster.stop()

    def load_image(self, image: str) -> None:
        """Do nothing: simulated nodes run pods without images."""
