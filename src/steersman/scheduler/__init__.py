"""kube-scheduler: assigns pending pods to nodes.

``pod_info`` and ``node_info`` precompute the facts of a pod and of a node, ``snapshot`` holds all nodes. ``plugins``
implement the scheduling framework's plugins, one concern per module. ``cycle`` selects a node for one pod,
``preemption`` selects victims when no node fits, and ``queue`` orders the pending pods and decides when unschedulable
ones are retried. These modules are synchronous and do no I/O; ``scheduler`` is the loop that watches the cluster and
binds.
"""

from steersman.extras import require

require(__name__, "toolkit")
