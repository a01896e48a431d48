"""Authorization: the ``Authorizer`` interface, its implementations (RBAC, Node, AlwaysAllow, AlwaysDeny), and
escalation checks.
"""
