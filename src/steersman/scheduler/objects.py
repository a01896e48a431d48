"""Kinds of objects by name, for signatures.

The classes of ``lightkube.models`` say of ``metadata`` and ``spec`` that they may be missing, as in a patch they may; in
what a server answers they never are. To spell that out at every step would hide the rules, so types end here.
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
