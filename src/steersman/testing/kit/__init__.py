"""The test kit: clusters in child processes, for tests in any framework.

``cluster`` has ``Cluster``, what a test works with; ``servers`` the fork server that its process shares; ``operators`` the
operators under test; ``template`` and the pytest plugin what all tests of a session start from. The other side is
``steersman.testing.host``.
"""
