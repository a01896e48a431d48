"""Controllers of kube-controller-manager, one folder or module each, and their manager.

A controller is a client of the API like any other. It consists of

* ``plan.py``: pure rules. Cached objects in; actions and the desired status out. No clock, loop or random generator
(an import contract); the time is a parameter.

* ``controller.py``: a ``runtime.Controller``. It declares its watches and the keys that a change enqueues; its
``reconcile`` reads caches only, runs the plan and executes the actions; failures raise and are retried with backoff.
``build(context)`` constructs it.

``controllers.registry`` lists every controller by upstream's name with the module that builds it, which is imported
when the controller is enabled. No controller imports another. ``docs/controllers.md`` walks through one.
"""

from steersman.extras import require

require(__name__, "server", "toolkit")
