"""StatefulSet: Pods with stable names and storage, created, updated and deleted in order.

Promises: at most one Pod per ordinal; with OrderedReady no Pod is created before all lower ordinals are available, and
none deleted before the higher ones; claims are created before the Pod that mounts them, and only their owner
references are changed.
"""
