"""Resource types of coordinated leader election."""

from __future__ import annotations

from typing import Final

from steersman.client.resource_types import tree

LEASES: Final = tree("coordination.k8s.io/v1", "Lease")
#: Both served versions share one storage version.
CANDIDATES: Final = tree("coordination.k8s.io/v1beta1", "LeaseCandidate")
