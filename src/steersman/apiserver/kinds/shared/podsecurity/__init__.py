"""Pod Security Standards: the checks of the levels baseline and restricted. Pure; the PodSecurity admission plugin
applies them.

Upstream: ``k8s.io/pod-security-admission/policy``.
"""
