"""Type aliases of Kubernetes objects for annotations.

``lightkube.models`` declare ``metadata`` and ``spec`` optional, since patches may omit them; objects from a server
always have them. The aliases are ``Any`` so that plugins need no None checks for these fields.
"""

from __future__ import annotations

from typing import Any

Container = Any
CSINode = Any
Node = Any
NodeSelectorTerm = Any
PersistentVolume = Any
PersistentVolumeClaim = Any
Pod = Any
PodAffinityTerm = Any
PodDisruptionBudget = Any
StorageClass = Any
Taint = Any
Toleration = Any
TopologySpreadConstraint = Any
