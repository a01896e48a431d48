"""Any program as an operator: here a shell script with kubectl, which the test stops and whose output it reads."""

MAP = "{apiVersion: v1, kind: ConfigMap, metadata: {name: hello, namespace: default}}"
SCRIPT = "kubectl get configmaps --watch -o name | while read -r name; do echo seen $name; done"


def test_program_sees_new_configmaps(cluster):
    operator = cluster.run_command(["sh", "-c", SCRIPT])
    cluster.apply(MAP)
    cluster.eventually(lambda: "seen configmap/hello" in operator.output)
    operator.stop()
