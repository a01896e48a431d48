"""StatefulSet: Pods with names and storage of their own, made, updated and removed in order.

Promises: of one ordinal there is never more than one Pod; with OrderedReady nothing is begun before all Pods with lower
ordinals are available, and nothing is removed before those above it are gone; claims are made before the Pod that mounts
them, and are changed only in who owns them.
"""
