"""Simulated nodes: Nodes that are registered and beat, and pods on them that live as pods do, without any container.

``stages`` is the engine: what an object is like, how long it stays so, what it turns into. ``pod_status`` knows what a
kubelet writes, ``pod_stages`` are the sets of stages that come with it, ``node_object`` makes Nodes from templates. All
of that is pure; ``pods`` and ``nodes`` are the controllers that watch and write.
"""

from steersman.extras import require

require(__name__, "toolkit")
