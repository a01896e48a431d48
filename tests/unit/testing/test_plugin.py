"""The fixtures that come with the package."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from fnmatch import fnmatchcase
from typing import NamedTuple

import pytest
from tests.busy_machine import LONG_HANG_SECONDS

pytest_plugins = ["pytester"]

#: Modules of one session of pytest, which starts one template of clusters.
MODULES = {
    "session": """
seen = []

def test_one(steersman_cluster):
    seen.append(steersman_cluster.url)

def test_two(steersman_cluster):
    assert seen == [steersman_cluster.url]
""",
    "options": """
import pytest

urls = []

@pytest.mark.cluster(nodes=0, controllers=[], scheduler=False)
class TestOptions:
    def test_class(self, cluster):
        urls.append(cluster.url)
        assert cluster._options.nodes == 0

    @pytest.mark.cluster(nodes=2, clock="virtual")
    def test_nearest_marker_wins(self, cluster):
        assert cluster.url not in urls
        assert (cluster._options.nodes, cluster._options.clock) == (2, "virtual")
        assert cluster._options.controllers == []
""",
    "errors": """
import pytest

@pytest.mark.cluster(nodez=1)
def test_unknown_option(cluster):
    pass

@pytest.mark.cluster(1)
def test_option_without_name(cluster):
    pass

@pytest.mark.cluster(feature_gates={"NoSuchGate": True})
def test_start_that_fails(cluster):
    pass
""",
    "wrong_template": """
import pytest

@pytest.fixture(scope="session")
def cluster_template(cluster_template):
    return None

def test_cluster(cluster):
    pass
""",
    "crashes": """
import os, signal
import pytest

pytestmark = pytest.mark.cluster(nodes=0, controllers=[], scheduler=False)

def test_killed(cluster):
    os.kill(cluster.pid, signal.SIGKILL)
    cluster.snapshot()

def test_killed_unnoticed(cluster):
    os.kill(cluster.pid, signal.SIGKILL)

def test_leftover_fault(cluster):
    cluster.faults.add(verb="get", resource="pods", respond=500)

def test_next(cluster):
    cluster.snapshot()

def test_failed_operator(cluster):
    operator = cluster.run_command(["sh", "-c", "echo planted output; exit 4"])
    operator.wait(120)

def test_failed(cluster):
    operator = cluster.run_command(["echo", "planted output"])
    operator.wait(120)
    raise AssertionError("planted failure")
""",
}


class Session(NamedTuple):
    """Results of a session of pytest that runs ``MODULES``."""

    output: str

    def outcomes(self, module: str) -> Counter[str]:
        """Return the number of tests of a module by outcome; an error after a test is one more."""
        return Counter(re.findall(rf"^(PASSED|FAILED|ERROR) test_{module}\.py::", self.output, re.MULTILINE))

    def has_line(self, pattern: str) -> bool:
        """Report whether a line of the output matches a glob."""
        return any(fnmatchcase(line, f"*{pattern}*") for line in self.output.splitlines())


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    folder = tmp_path_factory.mktemp("session")
    (folder / "pytest.ini").write_text("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    for name, text in MODULES.items():
        (folder / f"test_{name}.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-rA", "--strict-markers", "-p", "no:randomly", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=LONG_HANG_SECONDS)
    return Session(done.stdout)


def test_fixture_is_one_cluster_per_session(session):
    assert session.outcomes("session") == {"PASSED": 2}, session.output


def test_cluster_is_one_of_each_test_with_the_options_of_the_marker(session):
    assert session.outcomes("options") == {"PASSED": 2}, session.output


@pytest.mark.parametrize(
    "line",
    [
        "fixture 'cluster': unknown cluster option 'nodez', expected one of nodes, ",
        "@pytest.mark.cluster takes options by name, not 1",
        "fixture 'cluster': ",
        "NoSuchGate",
    ],
)
def test_errors_name_the_fixture_and_the_cause(session, line):
    assert session.outcomes("errors") == {"ERROR": 3}, session.output
    assert session.has_line(line), session.output


def test_template_of_another_type_is_an_error(session):
    assert session.outcomes("wrong_template") == {"ERROR": 1}, session.output
    assert session.has_line("fixture 'cluster_template' returned None, which is no template"), session.output


@pytest.mark.parametrize(
    "line",
    [
        "snapshot: the process of the cluster has ended with code -9",
        "fixture 'cluster': sh -c echo planted output; exit 4: ended with exit code 4 before it was stopped",
        "fixture 'cluster': faults.check_leftover: the process of the cluster has ended with code -9",
        "respond 500 to get pods: 0 hits, expected at least 1",
        "- output of echo planted output -",
    ],
)
def test_crashed_cluster_fails_its_test_only_and_reports_show_operators(session, line):
    assert session.outcomes("crashes") == {"PASSED": 4, "FAILED": 2, "ERROR": 3}, session.output
    assert session.has_line(line), session.output


def test_template_is_set_up_once_for_the_clusters_of_all_tests(pytester):
    pytester.makepyfile(
        """
        import pytest

        MAP = "{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, namespace: default}}\\n---\\n"
        setups = []

        @pytest.fixture(scope="session")
        def cluster_template(cluster_template):
            setups.append(1)
            cluster_template.configure(nodes=0, controllers=[], scheduler=False)
            cluster_template.apply(MAP % "common")
            return cluster_template

        async def maps(cluster):
            async with cluster.client() as client:
                listed = await client.list(await client.discover("v1", "ConfigMap"), namespace="default")
            return [each["metadata"]["name"] for each in listed]

        @pytest.mark.parametrize("name", ["one", "two"])
        async def test_own(cluster, name):
            await cluster.aio.apply(MAP % name)
            assert await maps(cluster) == ["common", name]
            assert setups == [1]
        """
    )
    pytester.makeini("[pytest]\nasyncio_mode = auto\n")
    result = pytester.runpytest_subprocess("-p", "no:randomly", "-W", "ignore")
    result.assert_outcomes(passed=2)


def test_workers_of_xdist_have_clusters_of_their_own(pytester):
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.parametrize("number", range(4))
        @pytest.mark.cluster(nodes=0, controllers=[], scheduler=False)
        def test_cluster(cluster, number):
            assert cluster.url
        """
    )
    result = pytester.runpytest_subprocess("-n", "2", "-p", "no:randomly")
    result.assert_outcomes(passed=4)
