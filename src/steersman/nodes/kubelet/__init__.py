"""The kubelet API of simulated nodes: logs, exec, attach and port forwarding.

``server`` is the HTTPS listener for all nodes of the process. A ``hosting.Host`` serves a pod's containers:
``simulated`` for simulated pods, ``steersman.nodes.processes`` for process pods. ``channels`` and ``port_forward`` are
the protocols over WebSockets, ``spdy`` the frames of kubectl's port forwarding.
"""
