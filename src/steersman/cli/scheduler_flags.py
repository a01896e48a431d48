"""Flags of kube-scheduler 1.36, in the groups of its ``--help``.

Upstream: ``cmd/kube-scheduler/app/options``.
"""

from __future__ import annotations

from typing import Final

from steersman.cli import values
from steersman.cli.base_flags import (
    DEBUGGING_FLAGS,
    FEATURE_FLAGS,
    LEADER_ELECTION_FLAGS,
    LOGS_FLAGS,
    METRICS_FLAGS,
    OWN_FLAGS,
)
from steersman.cli.flag_table import Flag, FlagTable
from steersman.cli.serving_flags import SERVING_FLAGS

SCHEDULER_FLAGS: Final[FlagTable] = {
    "misc": (
        Flag("config", values.path, "File with a KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1)"),
        Flag("master", str, "Address of the API server, in place of that of the kubeconfig"),
        Flag(
            "unsupported-kube-api-over-localhost",
            values.boolean,
            "Prefer the API server on localhost; a flag of OpenShift",
            unused="the API server is that of --master or --kubeconfig",
        ),
        Flag(
            "write-config-to",
            values.path,
            "File to write the configuration to, with all defaults; the command ends then",
        ),
    ),
    **SERVING_FLAGS,
    "deprecated": (
        *DEBUGGING_FLAGS,
        Flag("kube-api-burst", values.positive, "Maximum burst of requests to the API server"),
        Flag(
            "kube-api-content-type",
            str,
            "Content type of requests to the API server",
            unused="requests are JSON",
        ),
        Flag("kube-api-qps", values.number, "Maximum number of requests per second to the API server; 0 for no limit"),
        Flag(
            "kubeconfig",
            values.path,
            "Kubeconfig of the cluster (default $KUBECONFIG, the service account of the pod, ~/.kube/config)",
        ),
        Flag(
            "pod-max-in-unschedulable-pods-duration",
            values.duration,
            "Time after which an unschedulable pod is tried again",
        ),
    ),
    "leader election": LEADER_ELECTION_FLAGS,
    "feature gate": FEATURE_FLAGS,
    "metrics": METRICS_FLAGS,
    "logs": LOGS_FLAGS,
    "steersman": (
        *OWN_FLAGS,
        Flag(
            "percentage-of-nodes-to-score",
            values.percentage,
            "Percentage of nodes that are scored for a pod; 0 to choose by the size of the cluster",
        ),
        Flag("scheduler-name", str, "Schedule pods with this spec.schedulerName"),
    ),
}
