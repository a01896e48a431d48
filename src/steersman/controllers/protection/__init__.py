"""Protection finalizers of claims, volumes, VolumeAttributesClasses and PodGroups in use.

Four controllers over one set of rules: ``claims``, ``volumes``, ``attributes_classes``, ``pod_groups``.
"""
