"""Sends signals at a named moment of a process; imported by the interpreter where this folder is on ``PYTHONPATH``.

The components process is not killed when its end takes long: on a busy machine it may take longer than any bound, and
the test notices an end that never comes.

``STEERSMAN_MOMENT`` is ``ROLE MODULE[:QUALNAME]``: when the process whose command is ROLE imports MODULE, or calls the function
for the first time, the signals of ``STEERSMAN_SIGNALS`` are sent to the process that the test started.
"""

import functools
import importlib.abc
import importlib.util
import inspect
import os
import signal
import sys


def send():
    is_child = ROLE == "components" and os.environ.get("STEERSMAN_TARGET") != "self"
    target = os.getppid() if is_child else os.getpid()
    for name in os.environ["STEERSMAN_SIGNALS"].split():
        os.kill(target, signal.Signals[name])


def wrap(module, qualname):
    *path, name = qualname.split(".")
    owner = functools.reduce(getattr, path, module)
    static = inspect.getattr_static(owner, name)
    call = static.__func__ if isinstance(static, classmethod | staticmethod) else static
    is_sent = []

    @functools.wraps(call)
    def wrapper(*args, **kwargs):
        if not is_sent:
            is_sent.append(True)
            send()
        return call(*args, **kwargs)

    setattr(owner, name, type(static)(wrapper) if isinstance(static, classmethod | staticmethod) else wrapper)


class Finder(importlib.abc.MetaPathFinder):
    """Finds one module, once; calls ``before`` its execution, and ``after`` it with the module."""

    def __init__(self, name, *, before=None, after=None):
        self.name, self.before, self.after = name, before, after

    def find_spec(self, fullname, path, target=None):
        if fullname != self.name:
            return None
        sys.meta_path.remove(self)
        if self.before is not None:
            self.before()
        spec = importlib.util.find_spec(fullname)
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            if self.after is not None:
                self.after(module)

        spec.loader.exec_module = exec_module
        return spec


def wait_for_components(children):
    children.Child.stop.__kwdefaults__["grace_seconds"] = 3600.0


if "steersman" in sys.orig_argv:
    sys.meta_path.insert(0, Finder("steersman.controlplane.children", after=wait_for_components))
    if "STEERSMAN_MOMENT" in os.environ:
        ROLE, _, moment = os.environ["STEERSMAN_MOMENT"].partition(" ")
        MODULE, _, QUALNAME = moment.partition(":")
        if sys.orig_argv[sys.orig_argv.index("steersman") + 1] == ROLE:
            at_moment = {"after": lambda module: wrap(module, QUALNAME)} if QUALNAME else {"before": send}
            sys.meta_path.insert(0, Finder(MODULE, **at_moment))
