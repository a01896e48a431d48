"""Import of the language: in a worker when a request needs it, in other components with the first expression."""

import json
import subprocess
import sys

import pytest

#: Prints the threads in which modules of the language were imported while a server answered one request.
PROGRAM = """
import asyncio, json, sys, threading
from importlib.abc import MetaPathFinder

class Finder(MetaPathFinder):
    threads = {}
    def find_spec(self, name, path, target=None):
        if name.startswith("steersman.cel."):
            self.threads[name] = threading.current_thread().name

sys.meta_path.insert(0, Finder())
from steersman.testing import InProcessAPIServer

async def main():
    async with InProcessAPIServer() as server:
        before = set(Finder.threads)
        code = (await server.request("POST", sys.argv[1], body=sys.argv[2].encode())).code
    print(json.dumps([code, sorted(before), Finder.threads]))

asyncio.run(main())
"""
SCHEMA = {
    "type": "object",
    "properties": {"spec": {"type": "object", "x-kubernetes-validations": [{"rule": "self == self"}]}},
}
CRD = {
    "metadata": {"name": "things.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "things", "kind": "Thing"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}}],
    },
}
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
POLICY = {
    "metadata": {"name": "policy.example.com"},
    "spec": {
        "matchConstraints": {"resourceRules": [RULE]},
        "validations": [{"expression": "true"}],
    },
}
WEBHOOK = {
    "name": "hook.example.com",
    "clientConfig": {"url": "https://127.0.0.1:1/"},
    "rules": [RULE],
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
    "matchConditions": [{"name": "c", "expression": "true"}],
}
CLASS = {"metadata": {"name": "class"}, "spec": {"selectors": [{"cel": {"expression": "true"}}]}}


@pytest.mark.interpreted  # compiled modules import one another without a finder
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("apiextensions.k8s.io/v1/customresourcedefinitions", CRD),
        ("admissionregistration.k8s.io/v1/validatingadmissionpolicies", POLICY),
        (
            "admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
            {"metadata": {"name": "w"}, "webhooks": [WEBHOOK]},
        ),
        ("resource.k8s.io/v1/deviceclasses", CLASS),
    ],
)
def test_language_is_imported_in_a_worker_with_the_first_expression(path, body):
    command = [sys.executable, "-c", PROGRAM, f"/apis/{path}", json.dumps(body)]
    code, before, threads = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    assert code == 201
    assert before == ["steersman.cel.loading"]
    imported = {name: thread for name, thread in threads.items() if name not in before}
    assert "steersman.cel.evaluator" in imported
    assert {thread.partition("-")[0] for thread in imported.values()} == {"worker"}


def test_components_import_neither_the_language_nor_yaml_at_their_start():
    """The second statement imports YAML where the client of lightkube is installed."""
    program = """
import sys
import steersman.controllers.manager.leader_migration
assert "yaml" not in sys.modules
import steersman.controlplane.components
print([name for name in sys.modules if name.startswith("steersman.cel.")])
"""
    assert subprocess.run([sys.executable, "-c", program], check=True, capture_output=True).stdout == b"[]\n"
