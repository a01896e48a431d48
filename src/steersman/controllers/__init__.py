"""What kube-controller-manager runs: one folder or module per controller, and the manager that runs them.

A controller is a client of the API like any other. It is made of

* ``plan.py``: pure rules. Objects of the cache go in, intended actions and the wanted status come out. No clock, loop
  or dice (an import contract); the time comes in as a parameter.
* ``controller.py``: the thin shell, a ``runtime.controller.Controller``. It says what it watches, and which keys that
  concerns; its ``reconcile`` reads caches only, runs the plan and applies it; what failed raises, and is tried again
  with backoff. ``build(context)`` makes one.

``controllers.registry`` lists every controller by upstream's name and says which module builds it; that module is
imported when the controller is switched on. No controller imports another. ``docs/controllers.md`` walks through one.
"""

from steersman.extras import require

require(__name__, "server", "toolkit")
