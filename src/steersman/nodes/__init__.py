"""Simulated nodes: Nodes with heartbeats, whose pods go through their lifecycle without containers.

``stages`` is the engine: a stage matches an object, lasts for a delay, and writes a transition. ``pod_status`` builds
the statuses that a kubelet reports, ``pod_stages`` are the built-in sets of stages, ``node_object`` builds Nodes from
templates; all of these are pure. ``pods``, ``registration``, ``node_stages`` and ``object_stages`` are the controllers.
Upstream: KWOK.
"""

from steersman.extras import require

require(__name__, "toolkit")
