"""What nodes answer when they are asked about their pods: logs, commands, streams and ports.

``server`` is the kubelet's HTTPS API, one listener for all nodes of the process. Who answers for a pod is a
``hosting.Host``: ``simulated`` for pods that are nothing but objects, ``steersman.nodes.processes`` for those that run.
``channels`` and ``port_forward`` are what is spoken over WebSockets, ``spdy`` the frames that kubectl sends through one.
"""
