"""Warnings about pods that share a volume with different SELinux labels (``selinux-warning-controller``, KEP-1710).

Records events and a metric, and changes nothing. CSI volumes only.
"""
