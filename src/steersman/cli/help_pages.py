"""Help pages of the commands: description, examples, and the flags that ``--help`` shows.

A test runs every example.
"""

from __future__ import annotations

from typing import Final

from steersman.cli.flag_parser import Example, HelpPage

_LEADER_ELECTION: Final = "leader-elect-resource-name"

PAGES: Final[dict[str, HelpPage]] = {
    "up": HelpPage(
        "Start a control plane: an API server, the controllers, a scheduler and simulated nodes. Ctrl-C stops it.",
        examples=(
            Example("Start on port 6443, with the data in the user's state directory", "steersman up"),
            Example("Keep nothing: all objects in memory, any free port", "steersman up --ephemeral --port=0"),
            Example("Three nodes, and kubectl uses the control plane at once", "steersman up --nodes=3 --merge"),
            Example("A second control plane, with its own data and context", "steersman up --name=dev --port=0"),
            Example(
                "Pods that stay Running, and nodes as a file describes them",
                "steersman up --stages=never-end --node-template=nodes.yaml",
            ),
            Example("With usage for kubectl top and autoscalers", "steersman up --metrics"),
            Example(
                "With an admission plugin that is off by default, without one of the controllers",
                "steersman up --enable-admission-plugins=AlwaysPullImages --controllers='*,-ttl-after-finished-controller'",
            ),
        ),
        groups=(
            ("storage", ("ephemeral", "data-dir")),
            ("access", ("name", "port", "bind-address", "merge", "kubeconfig", "token-auth-file")),
            (
                "nodes and controllers",
                ("nodes", "node-template", "stages", "chaos", "process-pods", "metrics", "controllers"),
            ),
            ("API server", ("enable-admission-plugins", "audit-policy-file")),
            ("process", ("v",)),
        ),
    ),
    "apiserver": HelpPage(
        "Start an API server alone, with flags as kube-apiserver's.",
        examples=(
            Example("Keep nothing: all objects in memory, any free port", "steersman apiserver --ephemeral --port=0"),
            Example(
                "For members of the cluster on other machines",
                "steersman apiserver --bind-address=0.0.0.0 --data-dir=state --kubeconfig=admin.kubeconfig",
            ),
            Example(
                "Without authorization, for other Service addresses",
                "steersman apiserver --ephemeral --authorization-mode=AlwaysAllow --service-cluster-ip-range=10.96.0.0/16",
            ),
        ),
        groups=(
            ("storage", ("ephemeral", "data-dir")),
            ("serving", ("port", "bind-address", "advertise-address", "tls-cert-file", "tls-private-key-file")),
            ("access", ("merge", "kubeconfig", "client-ca-file", "token-auth-file", "authorization-mode")),
            (
                "API",
                ("service-cluster-ip-range", "enable-admission-plugins", "disable-admission-plugins", "feature-gates"),
            ),
            ("auditing", ("audit-policy-file", "audit-log-path")),
            ("process", ("name", "logging-format", "v")),
        ),
    ),
    "controller-manager": HelpPage(
        "Run the controllers of kube-controller-manager against the cluster of a kubeconfig, with its flags.",
        examples=(
            Example("All controllers that are on by default", "steersman controller-manager"),
            Example(
                "Only the garbage collector and the namespace controller, without leader election",
                "steersman controller-manager --controllers=garbage-collector-controller,namespace-controller"
                " --leader-elect=false",
            ),
        ),
        groups=(
            ("cluster", ("kubeconfig", "use-service-account-credentials", "kube-api-qps", "kube-api-burst")),
            ("controllers", ("controllers", "feature-gates", "root-ca-file", "service-account-private-key-file")),
            ("leader election", ("leader-elect", _LEADER_ELECTION, "leader-elect-resource-namespace")),
            ("process", ("address", "port", "logging-format", "v")),
        ),
    ),
    "scheduler": HelpPage(
        "Run a scheduler against the cluster of a kubeconfig, with flags as kube-scheduler's.",
        examples=(
            Example("Schedule the pods of the default scheduler", "steersman scheduler"),
            Example(
                "A second scheduler, for pods with spec.schedulerName: mine",
                "steersman scheduler --scheduler-name=mine --leader-elect-resource-name=mine",
            ),
            Example("With profiles and plugins of a configuration file", "steersman scheduler --config=scheduler.yaml"),
        ),
        groups=(
            ("cluster", ("kubeconfig", "kube-api-qps", "kube-api-burst")),
            ("scheduling", ("config", "scheduler-name", "percentage-of-nodes-to-score")),
            ("leader election", ("leader-elect", _LEADER_ELECTION, "leader-elect-resource-namespace")),
            ("process", ("address", "port", "logging-format", "v")),
        ),
    ),
    "nodes": HelpPage(
        "Simulate nodes and the pods on them in the cluster of a kubeconfig.",
        examples=(
            Example("Ten nodes whose pods complete when they should", "steersman nodes --nodes=10"),
            Example(
                "Nodes as a file describes them, with pods that stay Running",
                "steersman nodes --node-template=nodes.yaml --stages=never-end",
            ),
        ),
        groups=(
            ("cluster", ("kubeconfig",)),
            (
                "nodes and pods",
                ("nodes", "node-template", "stages", "chaos", "simulated-storage", "pod-events", "metrics"),
            ),
            ("process pods", ("process-pods", "process-isolation", "process-images", "process-dir")),
            ("process", ("logging-format", "v")),
        ),
    ),
    "components": HelpPage("Run the components of `steersman up` besides the API server."),
    "status": HelpPage(
        "Show the running control planes of this user. The exit code is 1 without any, and if one does not answer.",
        examples=(Example("Show them", "steersman status"),),
    ),
    "down": HelpPage(
        "Stop a control plane: the only one, or the one of a name or data directory.",
        examples=(
            Example("Stop the one that was started with --name=dev", "steersman down dev"),
            Example("Stop the one with this data directory", "steersman down --data-dir=state"),
            Example("Stop all control planes of this user", "steersman down --all --timeout=1m"),
        ),
    ),
    "env": HelpPage(
        'Print the shell command that sets KUBECONFIG for a running control plane: eval "$(steersman env)".',
        examples=(
            Example("For the only one", "steersman env"),
            Example("For the one that was started with --name=dev, in fish", "steersman env --name=dev --shell=fish"),
        ),
    ),
    "check": HelpPage(
        "Verify the store of a stopped API server: structure, checksums, revisions, and that every object decodes.",
        examples=(Example("Verify a data directory", "steersman check --data-dir=stopped"),),
    ),
    "check-storage": HelpPage(
        "Report the objects in the store of a stopped API server that kube-apiserver 1.36 would not read: unknown kinds and versions,"
        " keys of other objects, undecodable values.",
        examples=(Example("Before a kube-apiserver takes over", "steersman check-storage --data-dir=stopped"),),
    ),
    "export-to-etcd": HelpPage(
        "Copy all objects in the store of a stopped API server to an empty etcd, from which kube-apiserver 1.36 can start."
        " An interrupted copy continues; the result is verified by a digest.",
        examples=(
            Example(
                "Move a data directory to etcd",
                "steersman export-to-etcd --data-dir=stopped --etcd-servers=http://127.0.0.1:2379",
            ),
        ),
    ),
    "import-from-etcd": HelpPage(
        "Copy all objects of an etcd, whose API servers are stopped, to a new data directory."
        " An interrupted copy continues; the result is verified by a digest.",
        examples=(
            Example(
                "Move the objects of an etcd to a new data directory",
                "steersman import-from-etcd --data-dir=imported --etcd-servers=http://127.0.0.1:2379",
            ),
        ),
    ),
    "backup": HelpPage(
        "Copy the store of an API server, which may be running, to a file. The copy is consistent at one revision.",
        examples=(Example("Copy the store of a running API server", "steersman backup --data-dir=state copy.db"),),
        epilog="To restore a copy, stop the server, remove state.db and its -wal, -shm and -ack files, and put the copy"
        " there as state.db. Revisions continue above those of the original.",
    ),
    "repair": HelpPage(
        "List what a damaged store of a stopped API server has lost. Nothing is changed without --accept-data-loss.",
        examples=(
            Example("List what is lost", "steersman repair --data-dir=stopped"),
            Example("Continue with what can be read", "steersman repair --data-dir=stopped --accept-data-loss"),
        ),
    ),
    "elections": HelpPage(
        "Show the leader elections of a cluster: leaders, candidates, the next step and its reason, and plain Leases.",
        examples=(
            Example("Of all namespaces of the current context", "steersman elections"),
            Example("Of one namespace", "steersman elections --namespace=kube-system"),
            Example("Of the control plane that was started with --name=dev", "steersman elections --name=dev"),
        ),
    ),
    "envtest": HelpPage(
        "Print a folder for KUBEBUILDER_ASSETS, with programs that controller-runtime's envtest starts in place of"
        " kube-apiserver, etcd and kubectl.",
        examples=(
            Example("An API server, as envtest has it", "steersman envtest"),
            Example("With controllers, a scheduler and a simulated node", "steersman envtest --with-controllers"),
        ),
    ),
    "faults": HelpPage(
        "Let requests to a cluster of the test kit fail (python -m steersman.testing, or the pytest fixture cluster), as"
        " cluster.faults does in a test. An added fault lasts until it is removed, or has hit --times requests.",
        examples=(
            Example(
                "Three creates of ConfigMaps fail",
                "steersman faults add --verb=create --resource=configmaps --respond=500 --times=3",
            ),
            Example("The scheduler cannot reach the API server", "steersman faults partition scheduler"),
            Example("Open watches of Pods end with 410", "steersman faults expire-watches --resource=pods"),
            Example("The faults so far, and how many requests each has hit", "steersman faults list"),
        ),
    ),
}
