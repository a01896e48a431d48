"""An operator of kopf under test, as a process of its own."""

from pathlib import Path

OPERATOR = Path(__file__).with_name("kopf_greeter.py")
MAP = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "hello", "namespace": "default", "labels": {"greet": "yes"}},
}


def test_new_configmap_is_greeted(cluster):
    cluster.run(OPERATOR)
    cluster.apply(MAP)
    cluster.wait_for("configmap/hello", "jsonpath={.metadata.annotations.greeted}=yes")
    cluster.assert_no_hot_loop()


def test_greeting_survives_failed_writes(cluster):
    fault = cluster.faults.add(verb="patch", resource="configmaps", user_agent="kopf", respond=500, times=3)
    cluster.run(OPERATOR)
    cluster.apply(MAP)
    cluster.wait_for("configmap/hello", "jsonpath={.metadata.annotations.greeted}=yes")
    assert fault.hits == 3
