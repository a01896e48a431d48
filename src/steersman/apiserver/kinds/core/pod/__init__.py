"""Strategy, subresources, validation, Table and quota usage of Pods.

Rules that templates share are in ``shared/podspec``.
"""
