"""pytest plugin with cluster fixtures, loaded automatically from the installed package::

    def test_my_operator(cluster):
        config = kubernetes.config.new_client_from_config(str(cluster.kubeconfig))

``cluster`` is a control plane per test, ``cluster_template`` their common initial state, ``steersman_cluster`` one control
plane per session.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from steersman.testing.cluster import ControlPlane
    from steersman.testing.kit.cluster import Cluster
    from steersman.testing.kit.template import ClusterTemplate

_MARKER: Final = (
    "cluster(nodes=1, controllers=None, scheduler=True, clock='real', store='memory', feature_gates={}, seed=None, "
    "scheduler_plugins={}, scheduler_config=None): "
    "options of the fixture `cluster`"
)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", _MARKER)


def pytest_unconfigure() -> None:
    """End the fork server, if any test started it."""
    if servers := sys.modules.get("steersman.testing.kit.servers"):
        servers.close_fork_server()


@pytest.fixture(scope="session")
def steersman_cluster() -> Iterator[ControlPlane]:
    """Provide a control plane in memory for the session (one per worker under pytest-xdist)."""
    from steersman.testing.cluster import ControlPlane  # noqa: PLC0415 — most sessions do not use it

    with ControlPlane(whole=True) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def cluster_template() -> Iterator[ClusterTemplate]:
    """Provide the template of ``cluster``. Override it for a common setup::

    @pytest.fixture(scope="session")
    def cluster_template(cluster_template):
        cluster_template.apply("config/crd")
        return cluster_template
    """
    from steersman.testing.kit.template import ClusterTemplate  # noqa: PLC0415

    template = ClusterTemplate()
    yield template
    template.stop()


@pytest.fixture
def cluster(request: pytest.FixtureRequest, cluster_template: ClusterTemplate) -> Iterator[Cluster]:
    """Provide a control plane per test: API server, controllers, scheduler and a Ready node.

    ``@pytest.mark.cluster(...)`` sets its options.
    """
    from steersman.testing.errors import ClusterError  # noqa: PLC0415
    from steersman.testing.host.options import ClusterOptionError  # noqa: PLC0415

    if not hasattr(cluster_template, "fork"):
        pytest.fail(f"fixture 'cluster_template' returned {cluster_template!r}, which is no template", pytrace=False)
    options = _marked_options(request.node)
    reason = ""
    try:
        running = cluster_template.fork(**options)
    except (ClusterOptionError, ClusterError) as error:
        reason = str(error)
    if reason:
        pytest.fail(f"fixture 'cluster': {reason}", pytrace=False)
    try:
        yield running
        try:
            running.check_end()
        except (ClusterError, AssertionError) as error:
            reason = str(error)
        if reason:
            pytest.fail(f"fixture 'cluster': {reason}", pytrace=False)
    finally:
        running.stop()


def _marked_options(item: pytest.Item) -> dict[str, Any]:
    """Return the options of all markers; the closest marker takes precedence."""
    options: dict[str, Any] = {}
    for marker in item.iter_markers("cluster"):
        if marker.args:
            pytest.fail(f"@pytest.mark.cluster takes options by name, not {marker.args[0]!r}", pytrace=False)
        options = {**marker.kwargs, **options}
    return options


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add events, output and log of its cluster to the report of a failed test."""
    report = yield
    if report.failed and call.when == "call":
        kit = sys.modules.get("steersman.testing.kit.cluster")
        for value in getattr(item, "funcargs", {}).values():
            if kit is not None and isinstance(value, kit.Cluster) and value.is_running:
                from steersman.testing.kit.report import sections_of  # noqa: PLC0415

                report.sections.extend(sections_of(value))
    return report
