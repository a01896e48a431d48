"""Process pods: containers that run as local processes, beside simulated ones. Off unless asked for.

``selection`` says which pods, ``expansion``, ``fields``, ``environment`` and ``volumes`` what their containers are given,
``statuses`` what is told of them; all of that is pure. ``process`` is one process, ``container`` one container's life
with its restarts, ``pod_life`` that of a pod, ``keeper`` the controller, ``host`` answers ``kubectl logs`` and ``exec``.

Promises: nothing runs as anybody but the user of this process; nothing is written outside of the pods' private folder;
when this process ends, however it does, so do the containers (``guard``).
"""
