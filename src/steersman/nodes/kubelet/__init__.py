"""The kubelet API of simulated nodes: logs, exec, attach and port forwarding.

``server`` is the HTTPS listener for all nodes of the process. A ``host.Host`` serves a pod's containers:
``simulated`` for simulated pods, ``steersman.nodes.processes`` for process pods. ``channels`` and ``port_forward`` are
the protocols over WebSockets; ``spdy_streams`` and ``spdy_forwarding`` are those over SPDY/3.1, with frames in ``spdy`` and
streams in ``spdy_session``.
"""
