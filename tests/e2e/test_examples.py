"""The programs in ``examples/`` do what they say, each as a process of its own."""

import json
import os
import re
import runpy
import shutil
import signal
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import yaml
from tests.busy_machine import HANG_SECONDS, LONG_HANG_SECONDS
from tests.e2e.watching import line_with, until, until_one

EXAMPLES = Path(__file__).parents[2] / "examples"


class Api:
    """The server without any client of ours."""

    def __init__(self, cluster, namespace):
        self._cluster, self.namespace = cluster, namespace
        self._context = ssl.create_default_context(cafile=str(cluster.ca))

    def __call__(self, method, path, body=None, content_type="application/json"):
        """Return the tree of the response; None for a missing object."""
        try:
            return self.send(method, path, body, content_type)
        except urllib.error.HTTPError as error:
            error.close()
            return None

    def rejection(self, method, path, body):
        """Return the Status of a request that fails."""
        with pytest.raises(urllib.error.HTTPError) as failed:
            self.send(method, path, body)
        with failed.value as error:
            return json.load(error)

    def send(self, method, path, body=None, content_type="application/json"):
        """Return the tree of the response. Raises ``HTTPError``."""
        headers = {"Authorization": f"Bearer {self._cluster.token}", "Content-Type": content_type}
        data = None if body is None else json.dumps(body).encode()
        url = self._cluster.url + path.format(ns=self.namespace)
        request = urllib.request.Request(url, data, headers, method=method)
        with urllib.request.urlopen(request, context=self._context, timeout=HANG_SECONDS) as answer:
            return json.load(answer)

    def changes_until(self, path, since, holds):
        """Return the versions of an object after a resource version, up to the first that fulfils the condition."""
        collection, _, name = path.format(ns=self.namespace).rpartition("/")
        query = f"watch=true&fieldSelector=metadata.name%3D{name}&resourceVersion={since}&timeoutSeconds={HANG_SECONDS}"
        headers = {"Authorization": f"Bearer {self._cluster.token}"}
        request = urllib.request.Request(f"{self._cluster.url}{collection}?{query}", headers=headers)
        versions = []
        with urllib.request.urlopen(request, context=self._context, timeout=2 * HANG_SECONDS) as answer:
            for line in answer:
                versions.append(json.loads(line)["object"])
                if holds(versions[-1]):
                    return versions
        raise AssertionError(versions)

    def patch(self, path, body):
        return self("PATCH", path, body, "application/merge-patch+json")

    def until(self, path, holds):
        """Wait until the object at a path, or None for a missing one, fulfils the condition; return it."""
        path = path.format(ns=self.namespace)
        return until_one(self._cluster, path, lambda obj: (obj,) if holds(obj) else ())[0]


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

    def run(name, *arguments, python_path=""):
        script = [name] if name == "-m" else [str(EXAMPLES / name)]
        command = [sys.executable, "-u", *script, *arguments]
        environment = {**os.environ, "KUBECONFIG": str(path)}
        if python_path:
            environment["PYTHONPATH"] = os.pathsep.join(filter(None, [python_path, os.environ.get("PYTHONPATH")]))
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
        )
        started.append(process)
        return process

    yield run
    for process in started:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
    ends = [(*process.communicate(timeout=HANG_SECONDS)[:1], process.returncode) for process in started]
    assert [code for _, code in ends] == [0] * len(ends), ends
    assert [output for output, _ in ends if "Traceback" in output] == []


def test_greeter_greets_and_corrects_itself(start, api):
    start("greeter.py")
    path = "/api/v1/namespaces/{ns}/configmaps"
    api("POST", path, {"metadata": {"name": "hello"}, "data": {"name": "you"}})
    api.until(f"{path}/hello", lambda obj: obj["data"].get("greeting") == "Hello, you!")
    api.patch(f"{path}/hello", {"data": {"name": "world"}})
    api.until(f"{path}/hello", lambda obj: obj["data"]["greeting"] == "Hello, world!")


def is_served(definition):
    conditions = (definition or {}).get("status", {}).get("conditions") or ()
    return any((condition["type"], condition["status"]) == ("Established", "True") for condition in conditions)


def test_website_operator_publishes_updates_reports_and_cleans_up(start, api, cluster):
    start("website_operator.py")
    websites, pages = "/apis/example.com/v1/namespaces/{ns}/websites", "/api/v1/namespaces/{ns}/configmaps"
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    api.until(f"{definitions}/websites.example.com", is_served)
    site = {"apiVersion": "example.com/v1", "kind": "Website", "metadata": {"name": "home"}, "spec": {"title": "Hi"}}
    created = api("POST", websites, site)
    page = api.until(f"{pages}/home", lambda obj: obj is not None)
    assert page["data"] == {"index.html": "<h1>Hi</h1>\n\n"}
    (owner,) = page["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("Website", created["metadata"]["uid"], True)
    ready = api.until(f"{websites}/home", lambda obj: obj.get("status", {}).get("conditions"))
    assert [(one["type"], one["status"]) for one in ready["status"]["conditions"]] == [("Ready", "True")]
    api.patch(f"{pages}/home", {"data": {"index.html": "spoilt"}})
    api.until(f"{pages}/home", lambda obj: obj["data"]["index.html"].startswith("<h1>Hi"))
    api.patch(f"{websites}/home", {"spec": {"title": "Ho"}})
    api.until(f"{pages}/home", lambda obj: obj["data"]["index.html"].startswith("<h1>Ho"))
    events = f"/api/v1/namespaces/{api.namespace}/events"
    until(cluster, events, lambda objects: {"Published", "Updated"} <= {event["reason"] for event in objects})
    assert ready["metadata"]["finalizers"] == ["example.com/goodbye"]
    api("DELETE", f"{websites}/home")
    api.until(f"{websites}/home", lambda obj: obj is None)


def test_leader_worker_hands_over_to_the_next(start, api):
    first = start("leader_worker.py", "first")
    line_with(first, "first works")
    second = start("leader_worker.py", "second")
    line_with(second, "first leads")
    path = "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases/leader-worker"
    before = api("GET", path)["metadata"]["resourceVersion"]
    first.send_signal(signal.SIGTERM)
    line_with(second, "second works")
    first.wait(timeout=HANG_SECONDS)
    leases = api.changes_until(path, before, lambda lease: lease["spec"]["holderIdentity"] == "second")
    assert "" in [lease["spec"]["holderIdentity"] for lease in leases]  # released, not expired
    assert leases[-1]["spec"]["leaseTransitions"] == 1


def test_heartbeat_is_fresh_while_its_process_lives(start, api):
    start("heartbeat.py", "me")
    path = "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases/me"
    first = api.until(path, lambda obj: obj is not None)["spec"]
    assert (first["holderIdentity"], first["leaseDurationSeconds"]) == ("me", 4)
    api.until(path, lambda obj: obj["spec"]["renewTime"] > first["renewTime"])


ALL_SHARDS = "shards 0 1 2 3 4 5 6 7 8 9 10 11\n"


def shards_of_two():
    """Return the lines of both workers of a pool, by the hash of the example."""
    module = runpy.run_path(str(EXAMPLES / "worker_pool.py"))
    shares = {name: module["shards_of"](name, ("first", "second")) for name in ("first", "second")}
    assert sorted(shares["first"] + shares["second"]) == list(range(module["SHARDS"]))
    return {name: f"{name}: shards {' '.join(map(str, shards))}\n" for name, shards in shares.items()}


def test_worker_pool_moves_shards_of_a_worker_that_stops_renewing_or_leaves(start, api):
    """Further lines between the expected ones are of leases that were renewed late."""
    shares = shards_of_two()
    first = start("worker_pool.py", "orders", "first")
    line_with(first, ALL_SHARDS)
    second = start("worker_pool.py", "orders", "second")
    line_with(first, shares["first"])
    line_with(second, shares["second"])
    first.send_signal(signal.SIGSTOP)  # neither renews nor leaves
    try:
        line_with(second, ALL_SHARDS)
    finally:
        first.send_signal(signal.SIGCONT)
    line_with(second, shares["second"])
    lease = api("GET", "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases/orders-first")
    assert lease["metadata"]["labels"] == {"example.com/pool": "orders"}
    first.send_signal(signal.SIGTERM)
    line_with(second, ALL_SHARDS)
    first.wait(timeout=HANG_SECONDS)
    assert api("GET", "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases/orders-first") is None


@pytest.fixture(scope="module")
def greeter_package(tmp_path_factory):
    """The directory that the wheel of ``greeter_package`` is installed into, for ``PYTHONPATH``."""
    source, target = tmp_path_factory.mktemp("source") / "greeter", tmp_path_factory.mktemp("installed")
    shutil.copytree(EXAMPLES / "greeter_package", source)
    options = ["--no-deps", "--no-index", "--no-build-isolation", "--no-cache-dir", "--disable-pip-version-check"]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", *options, f"--target={target}", str(source)]
    subprocess.run(pip, check=True, capture_output=True, timeout=LONG_HANG_SECONDS)
    return str(target)


MAPS = "/api/v1/namespaces/{ns}/configmaps"


def test_controller_manager_runs_the_controller_of_an_installed_package(start, api, greeter_package):
    flags = ["--controllers=greeter-controller", "--leader-elect=false", "--port=0"]
    start("-m", "steersman", "controller-manager", *flags, python_path=greeter_package)
    api("POST", MAPS, {"metadata": {"name": "hello"}, "data": {"name": "you"}})
    api.until(f"{MAPS}/hello", lambda live: live["data"].get("greeting") == "Hello, you!")


def test_controller_manager_acts_as_the_account_of_an_installed_controller(start, api, greeter_package):
    accounts = "/api/v1/namespaces/kube-system/serviceaccounts"
    role = {"kind": "ClusterRole", "apiGroup": "rbac.authorization.k8s.io", "name": "cluster-admin"}
    subject = {"kind": "ServiceAccount", "namespace": "kube-system", "name": "greeter-controller"}
    binding = {"metadata": {"name": f"greeter-{api.namespace}"}, "roleRef": role, "subjects": [subject]}
    api("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding)
    flags = ["--controllers=greeter-controller", "--leader-elect=false", "--port=0"]
    start("-m", "steersman", "controller-manager", *flags, "--use-service-account-credentials",
          python_path=greeter_package)  # fmt: skip
    api("POST", MAPS, {"metadata": {"name": "hello"}, "data": {"name": "you"}})
    api.until(f"{MAPS}/hello", lambda live: live["data"].get("greeting") == "Hello, you!")
    assert api("GET", f"{accounts}/greeter-controller") is not None


def test_manager_of_a_package_runs_controllers_of_steersman(start, api, greeter_package):
    start("-m", "greeter_controller", python_path=greeter_package)
    labels = {"app": "x"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
    api("POST", "/apis/apps/v1/namespaces/{ns}/deployments", {"metadata": {"name": "web"}, "spec": spec})
    api("POST", MAPS, {"metadata": {"name": "hello"}, "data": {"name": "you"}})
    api.until("/apis/apps/v1/namespaces/{ns}/deployments/web", lambda live: live.get("status", {}).get("replicas") == 2)
    api.until(f"{MAPS}/hello", lambda live: live["data"].get("greeting") == "Hello, you!")


def test_guide_shows_the_source_of_the_package():
    page = (EXAMPLES.parent / "docs" / "controllers.md").read_text()
    blocks = [*re.findall(r"^```(?:toml|python)\n(.*?)^```", page, re.MULTILINE | re.DOTALL)]
    files = [(EXAMPLES / "greeter_package" / name).read_text() for name in ("pyproject.toml", "greeter_controller.py")]
    assert len(blocks) == 2
    assert [block in file for block, file in zip(blocks, files, strict=True)] == [True, True]


def test_the_metrics_api_serves_usage_while_it_runs(start, api):
    process = start("metrics_api.py")
    line_with(process, "serving metrics.k8s.io/v1beta1")
    service = "/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.metrics.k8s.io"
    api.until(service, lambda obj: "Passed" in str(obj.get("status")))
    pod = {
        "metadata": {"name": "busy", "annotations": {"example.com/cpu": "700m"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    path = "/api/v1/namespaces/{ns}/pods"
    api("POST", path, pod)
    api.patch(f"{path}/busy/status", {"status": {"phase": "Running"}})
    metrics = api("GET", "/apis/metrics.k8s.io/v1beta1/namespaces/{ns}/pods")
    assert [item["containers"][0]["usage"]["cpu"] for item in metrics["items"]] == ["700m"]
    assert api("GET", "/apis/metrics.k8s.io/v1beta1/nodes")["kind"] == "NodeMetricsList"
    process.send_signal(signal.SIGTERM)
    process.wait(timeout=HANG_SECONDS)
    assert api("GET", service) is None


@pytest.fixture
def unregistered(api):
    """Delete what the operator of webhooks has registered, after the test."""
    yield
    for kind in ("mutating", "validating"):
        api("DELETE", f"/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations/screens.example.com")
    api("DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/screens.example.com")
    api("DELETE", "/api/v1/namespaces/default/secrets/screens-webhook")


def is_ready(definition):
    """Report whether a definition is served, with the authorities of its conversion webhook."""
    return is_served(definition) and "caBundle" in definition["spec"]["conversion"]["webhook"]["clientConfig"]


@pytest.mark.usefixtures("unregistered")
def test_webhook_operator_defaults_validates_and_converts(start, api):
    start("webhook_operator.py")
    definition = api.until("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/screens.example.com", is_ready)
    for kind in ("mutating", "validating"):
        path = f"/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations/screens.example.com"
        configuration = api.until(path, lambda obj: obj and "caBundle" in obj["webhooks"][0]["clientConfig"])
        authorities = configuration["webhooks"][0]["clientConfig"]["caBundle"]
        assert authorities == definition["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"]
    v1, v2 = (f"/apis/example.com/{version}/namespaces/{{ns}}/screens" for version in ("v1", "v2"))

    def screen(name, version, **spec):
        return {"apiVersion": f"example.com/{version}", "kind": "Screen", "metadata": {"name": name}, "spec": spec}

    created = api.send("POST", v2, screen("a", "v2", width=800, unknown="x"))
    assert created["spec"] == {"width": 800, "height": 480, "unknown": "x"}  # the struct does not know all fields
    created = api.send("POST", v1, screen("b", "v1", size="1024x768"))
    assert (created["apiVersion"], created["spec"]) == ("example.com/v1", {"size": "1024x768"})
    assert [item["spec"] for item in api("GET", v1)["items"]] == [{"size": "800x480"}, {"size": "1024x768"}]
    assert api("GET", f"{v2}/b")["spec"] == {"width": 1024, "height": 768}

    status = api.rejection("POST", v1, screen("c", "v1", size="99999x99999"))
    assert (status["code"], status["reason"]) == (422, "Invalid")
    expected = 'admission webhook "screens.example.com" denied the request: 99999x99999 has more than 33177600 pixels'
    assert status["message"] == expected
    status = api.rejection("POST", v1, screen("c", "v1", size="huge"))
    assert status["message"].endswith("failed: spec.size 'huge' is not WIDTHxHEIGHT")


def test_guide_of_webhooks_shows_the_source_of_the_operator():
    page = (EXAMPLES.parent / "docs" / "webhook-server.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    source = (EXAMPLES / "webhook_operator.py").read_text()
    assert len(blocks) == 5
    assert [block for block in blocks if block not in source] == []
