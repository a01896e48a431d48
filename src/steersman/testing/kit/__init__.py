"""The test kit: clusters in child processes, for tests in any framework.

``cluster`` has ``Cluster``, the API for tests; ``servers`` the shared fork server; ``operators`` the operators under test;
``template`` and the pytest plugin the common initial state of a session. The child processes run ``steersman.testing.host``.
"""
