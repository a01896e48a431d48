"""The programs in ``examples/`` do what they say, each as a process of its own."""

import json
import os
import signal
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import yaml
from tests.e2e.watching import line_with, until, until_one

EXAMPLES = Path(__file__).parents[2] / "examples"


class Api:
    """The server without any client of ours."""

    def __init__(self, cluster, namespace):
        self._cluster, self.namespace = cluster, namespace
        self._context = ssl.create_default_context(cafile=str(cluster.ca))

    def __call__(self, method, path, body=None, content_type="application/json"):
        """The answer's tree; None where there is nothing."""
        headers = {"Authorization": f"Bearer {self._cluster.token}", "Content-Type": content_type}
        data = None if body is None else json.dumps(body).encode()
        url = self._cluster.url + path.format(ns=self.namespace)
        request = urllib.request.Request(url, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, context=self._context, timeout=10) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            error.close()
            return None

    def patch(self, path, body):
        return self("PATCH", path, body, "application/merge-patch+json")

    def until(self, path, holds):
        """The object at a path, or None where there is nothing, as soon as it holds of it."""
        path = path.format(ns=self.namespace)
        return until_one(self._cluster, path, lambda found: (found,) if holds(found) else ())[0]


@pytest.fixture
def api(cluster, namespace):
    return Api(cluster, namespace)


@pytest.fixture
def start(cluster, namespace, tmp_path):
    """Starts an example, as the admin in the test's namespace; ends it afterwards, which must go well."""
    kubeconfig = yaml.safe_load(cluster.kubeconfig.read_text())
    for context in kubeconfig["contexts"]:
        context["context"]["namespace"] = namespace
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(kubeconfig))
    started = []

    def run(name, *arguments):
        command = [sys.executable, "-u", str(EXAMPLES / name), *arguments]
        environment = {**os.environ, "KUBECONFIG": str(path)}
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
        )
        started.append(process)
        return process

    yield run
    for process in started:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
    ends = [(*process.communicate(timeout=20)[:1], process.returncode) for process in started]
    assert [code for _, code in ends] == [0] * len(ends), ends
    assert [said for said, _ in ends if "Traceback" in said] == []


def test_the_greeter_greets_and_corrects_itself(start, api):
    start("greeter.py")
    path = "/api/v1/namespaces/{ns}/configmaps"
    api("POST", path, {"metadata": {"name": "hello"}, "data": {"name": "you"}})
    api.until(f"{path}/hello", lambda found: found["data"].get("greeting") == "Hello, you!")
    api.patch(f"{path}/hello", {"data": {"name": "world"}})
    api.until(f"{path}/hello", lambda found: found["data"]["greeting"] == "Hello, world!")


def is_served(definition):
    conditions = (definition or {}).get("status", {}).get("conditions") or ()
    return any((each["type"], each["status"]) == ("Established", "True") for each in conditions)


def test_the_operator_publishes_updates_reports_and_says_goodbye(start, api, cluster):
    start("website_operator.py")
    websites, pages = "/apis/example.com/v1/namespaces/{ns}/websites", "/api/v1/namespaces/{ns}/configmaps"
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    api.until(f"{definitions}/websites.example.com", is_served)
    site = {"apiVersion": "example.com/v1", "kind": "Website", "metadata": {"name": "home"}, "spec": {"title": "Hi"}}
    made = api("POST", websites, site)
    page = api.until(f"{pages}/home", lambda found: found is not None)
    assert page["data"] == {"index.html": "<h1>Hi</h1>\n\n"}
    (owner,) = page["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("Website", made["metadata"]["uid"], True)
    ready = api.until(f"{websites}/home", lambda found: found.get("status", {}).get("conditions"))
    assert [(one["type"], one["status"]) for one in ready["status"]["conditions"]] == [("Ready", "True")]
    api.patch(f"{pages}/home", {"data": {"index.html": "spoilt"}})
    api.until(f"{pages}/home", lambda found: found["data"]["index.html"].startswith("<h1>Hi"))
    api.patch(f"{websites}/home", {"spec": {"title": "Ho"}})
    api.until(f"{pages}/home", lambda found: found["data"]["index.html"].startswith("<h1>Ho"))
    events = f"/api/v1/namespaces/{api.namespace}/events"
    until(cluster, events, lambda found: {"Published", "Updated"} <= {event["reason"] for event in found})
    assert ready["metadata"]["finalizers"] == ["example.com/goodbye"]
    api("DELETE", f"{websites}/home")
    api.until(f"{websites}/home", lambda found: found is None)


def test_one_worker_leads_and_the_next_takes_over(start, api):
    first = start("leader_worker.py", "first")
    line_with(first, "first works")
    second = start("leader_worker.py", "second")
    line_with(second, "first leads")
    first.send_signal(signal.SIGTERM)
    stopped = time.monotonic()
    line_with(second, "second works")
    assert time.monotonic() - stopped < 10  # a crash would take 15 seconds; how soon it is, other tests say
    first.wait(timeout=20)
    lease = api("GET", "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases/leader-worker")
    assert (lease["spec"]["holderIdentity"], lease["spec"]["leaseTransitions"]) == ("second", 1)


def test_the_heartbeat_is_fresh_as_long_as_it_lives(start, api):
    start("heartbeat.py", "me")
    path = "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases/me"
    first = api.until(path, lambda found: found is not None)["spec"]
    assert (first["holderIdentity"], first["leaseDurationSeconds"]) == ("me", 4)
    api.until(path, lambda found: found["spec"]["renewTime"] > first["renewTime"])
