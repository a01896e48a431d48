"""A real control plane for tests.

``ControlPlane`` starts ``steersman apiserver`` in a process of its own and stops it again; the pytest plugin
(``steersman.testing.plugin``, loaded by itself once the package is installed) has it as the fixture
``steersman_cluster``. ``InProcessAPIServer`` is the same API server on the test's own event loop, without a socket.
"""

from steersman.testing.cluster import ControlPlane
from steersman.testing.inprocess import InProcessAPIServer

__all__ = ["ControlPlane", "InProcessAPIServer"]
