"""Process pods: pods whose containers run as local processes. Disabled by default.

``selection`` decides which pods; ``expansion``, ``fields``, ``environment`` and ``volumes`` compute the inputs of
containers and ``statuses`` their statuses, all pure. ``process`` runs one process, ``container`` one container with its
restarts, ``pod_worker`` a pod; ``controller`` is the controller, ``host`` serves ``kubectl logs`` and ``exec``.

Guarantees: processes run as the current user; files are written only below the pods' private directory; containers are
killed when this process ends for any reason (``guard``).
"""
