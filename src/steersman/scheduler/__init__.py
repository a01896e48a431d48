"""kube-scheduler: which node a pod goes to.

``pod_info`` and ``node_info`` are what is known of a pod and of a node, made ready for many looks; ``snapshot`` is all
nodes together. ``plugins`` hold the rules, one concern a module. ``cycle`` finds a node for one pod, ``preemption`` whom
to evict when there is none, ``queue`` which pod is next and what may help those that found nothing. All of that is pure;
``scheduler`` is the loop that follows the cluster and binds.
"""

from steersman.extras import require

require(__name__, "toolkit")
