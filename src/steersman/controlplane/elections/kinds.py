"""The two kinds of objects that elections are made of."""

from __future__ import annotations

from typing import Final

from steersman.client.resource_types import tree

LEASES: Final = tree("coordination.k8s.io/v1", "Lease")
#: Both versions of candidates are one in the store.
CANDIDATES: Final = tree("coordination.k8s.io/v1beta1", "LeaseCandidate")
