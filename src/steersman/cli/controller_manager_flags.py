"""Flags of kube-controller-manager 1.36, in the groups of its ``--help``.

Upstream: ``cmd/kube-controller-manager/app/options``, ``k8s.io/controller-manager/options``.
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

_NO_CLOUD: Final = "there are no cloud controllers; a cloud-controller-manager runs them"
_NO_PLUGINS: Final = "there are no in-tree volume plugins"
_NO_POLLING: Final = "changes are watched, nothing is polled"


def _syncs(name: str, objects: str) -> Flag:
    """Return the row of a flag for the number of workers."""
    return Flag(name, values.positive, f"Number of {objects} that are synced concurrently")


def _signer(signer: str, text: str) -> tuple[Flag, Flag]:
    """Return the rows of the certificate and the key of one signer."""
    prefix = f"cluster-signing-{signer}"
    return (
        Flag(f"{prefix}-cert-file", str, f"File with the certificate authority that signs {text}"),
        Flag(f"{prefix}-key-file", str, f"File with the private key of --{prefix}-cert-file"),
    )


_GENERIC: Final = (
    Flag("allocate-node-cidrs", values.boolean, "Allocate ranges of pod IPs to Nodes"),
    Flag("cidr-allocator-type", str, "Type of the CIDR allocator: RangeAllocator"),
    Flag("cloud-config", str, "File with the configuration of the cloud provider", unused=_NO_CLOUD),
    Flag("cloud-provider", values.cloud_provider, "Cloud provider: external, or empty", unused=_NO_CLOUD),
    Flag("cluster-cidr", str, "CIDR for pods, or one of each IP family; for --allocate-node-cidrs"),
    Flag("cluster-name", str, "Prefix of names in a cloud", unused=_NO_CLOUD),
    Flag("configure-cloud-routes", values.boolean, "Configure routes of the cloud provider", unused=_NO_CLOUD),
    Flag("controller-shutdown-timeout", values.duration, "Time that running reconciles have to end at a stop"),
    Flag("controller-start-interval", values.duration, "Time between the starts of two controllers"),
    Flag(
        "controllers",
        values.controllers,
        "Controllers to run: names, -names to leave out, * for all that are on by default",
    ),
    *FEATURE_FLAGS,
    Flag("kube-api-burst", values.positive, "Maximum burst of requests of each client, when there is a limit"),
    Flag(
        "kube-api-content-type",
        str,
        "Content type of requests to the API server",
        unused="requests are JSON",
    ),
    Flag("kube-api-qps", values.number, "Maximum number of requests per second of each client; 0 for no limit"),
    *LEADER_ELECTION_FLAGS,
    Flag(
        "min-resync-period",
        values.duration,
        "Minimum resync period of informers; the actual one is random, up to twice this",
    ),
    Flag("node-monitor-period", values.duration, "Period for syncing the status of Nodes", unused=_NO_POLLING),
    Flag("route-reconciliation-period", values.duration, "Period for reconciling routes of Nodes", unused=_NO_CLOUD),
    Flag(
        "use-service-account-credentials",
        values.boolean,
        "Use the credentials of a separate service account for each controller",
    ),
)
_AUTOSCALING: Final = "horizontal-pod-autoscaler"
_CONTROLLERS: Final[FlagTable] = {
    "service-lb-controller": (
        Flag(
            "concurrent-service-syncs",
            values.positive,
            "Number of services that are synced concurrently",
            unused=_NO_CLOUD,
        ),
    ),
    "persistentvolume-attach-detach-controller": (
        Flag(
            "attach-detach-reconcile-sync-period",
            values.duration,
            "Period for comparing attachments with the real ones",
            unused=_NO_POLLING,
        ),
        Flag(
            "disable-attach-detach-reconcile-sync",
            values.boolean,
            "Do not compare attachments with the real ones",
            unused=_NO_POLLING,
        ),
        Flag(
            "disable-force-detach-on-timeout",
            values.boolean,
            "Do not detach volumes from Nodes that are unhealthy for longer than the maximum unmount time",
        ),
    ),
    "certificatesigningrequest-signing-controller": (
        Flag("cluster-signing-cert-file", str, "File with the certificate authority that signs certificates"),
        Flag("cluster-signing-duration", values.duration, "Maximum duration of signed certificates"),
        Flag("cluster-signing-key-file", str, "File with the private key of --cluster-signing-cert-file"),
        *_signer("kube-apiserver-client", "for kubernetes.io/kube-apiserver-client"),
        *_signer("kubelet-client", "for kubernetes.io/kube-apiserver-client-kubelet"),
        *_signer("kubelet-serving", "for kubernetes.io/kubelet-serving"),
        *_signer("legacy-unknown", "for kubernetes.io/legacy-unknown"),
    ),
    "deployment-controller": (_syncs("concurrent-deployment-syncs", "Deployments"),),
    "statefulset-controller": (_syncs("concurrent-statefulset-syncs", "StatefulSets"),),
    "daemonset-controller": (_syncs("concurrent-daemonset-syncs", "DaemonSets"),),
    "device-taint-eviction-controller": (_syncs("concurrent-device-taint-eviction-syncs", "operations"),),
    "endpoints-controller": (
        _syncs("concurrent-endpoint-syncs", "Endpoints"),
        Flag("endpoint-updates-batch-period", values.duration, "Time for which changes of pods are collected"),
    ),
    "endpointslice-controller": (
        _syncs("concurrent-service-endpoint-syncs", "Services"),
        Flag("endpointslice-updates-batch-period", values.duration, "Time for which changes of pods are collected"),
        Flag("max-endpoints-per-slice", values.positive, "Maximum number of endpoints of an EndpointSlice"),
    ),
    "endpointslice-mirroring-controller": (
        _syncs("mirroring-concurrent-service-endpoint-syncs", "Services"),
        Flag(
            "mirroring-endpointslice-updates-batch-period",
            values.duration,
            "Time for which changes of Endpoints are collected",
        ),
        Flag("mirroring-max-endpoints-per-subset", values.positive, "Maximum number of mirrored endpoints of a subset"),
    ),
    "ephemeral-volume-controller": (_syncs("concurrent-ephemeralvolume-syncs", "pods"),),
    "garbage-collector-controller": (
        _syncs("concurrent-gc-syncs", "objects"),
        Flag("enable-garbage-collector", values.boolean, "Run the garbage collector; as of the API server"),
    ),
    "horizontal-pod-autoscaler-controller": (
        _syncs(f"concurrent-{_AUTOSCALING}-syncs", "HorizontalPodAutoscalers"),
        Flag(
            f"{_AUTOSCALING}-cpu-initialization-period",
            values.duration,
            "Time after the start of a pod in which its CPU use counts only while it is ready",
        ),
        Flag(
            f"{_AUTOSCALING}-downscale-stabilization",
            values.duration,
            "Time for which nothing is scaled below the highest recommendation",
        ),
        Flag(
            f"{_AUTOSCALING}-initial-readiness-delay",
            values.duration,
            "Time after the start of a pod in which a change of its readiness counts as its first",
        ),
        Flag(f"{_AUTOSCALING}-sync-period", values.duration, "Period for syncing the number of pods"),
        Flag(f"{_AUTOSCALING}-tolerance", values.number, "Minimum change of the ratio of metrics that scales"),
    ),
    "job-controller": (_syncs("concurrent-job-syncs", "Jobs"),),
    "cronjob-controller": (_syncs("concurrent-cron-job-syncs", "CronJobs"),),
    "legacy-serviceaccount-token-cleaner-controller": (
        Flag(
            "legacy-service-account-token-clean-up-period",
            values.duration,
            "Time without use after which a legacy service account token is invalidated, and then deleted",
        ),
    ),
    "namespace-controller": (
        _syncs("concurrent-namespace-syncs", "Namespaces"),
        Flag("namespace-sync-period", values.duration, "Period for syncing the lifecycle of Namespaces"),
    ),
    "node-ipam-controller": (
        Flag("node-cidr-mask-size", values.prefix_length, "Mask size of the range of a Node (default 24 or 64)"),
        Flag("node-cidr-mask-size-ipv4", values.prefix_length, "Mask size of the IPv4 range of a Node (default 24)"),
        Flag("node-cidr-mask-size-ipv6", values.prefix_length, "Mask size of the IPv6 range of a Node (default 64)"),
        Flag("service-cluster-ip-range", str, "CIDR of Services, which no Node gets"),
    ),
    "node-lifecycle-controller": (
        Flag("large-cluster-size-threshold", values.count, "Maximum number of Nodes of a small zone"),
        Flag("node-eviction-rate", values.number, "Nodes of a healthy zone that are tainted per second"),
        Flag("node-monitor-grace-period", values.duration, "Time without heartbeat after which a Node is unknown"),
        Flag("node-startup-grace-period", values.duration, "The same for a Node that has never sent a heartbeat"),
        Flag("secondary-node-eviction-rate", values.number, "Nodes of an unhealthy zone that are tainted per second"),
        Flag("unhealthy-zone-threshold", values.fraction, "Fraction of Nodes not Ready that makes a zone unhealthy"),
    ),
    "persistentvolume-binder-controller": (
        Flag("enable-dynamic-provisioning", values.boolean, "Let provisioners create volumes for claims"),
        Flag("enable-hostpath-provisioner", values.boolean, "Provision HostPath volumes", unused=_NO_PLUGINS),
        Flag("flex-volume-plugin-dir", str, "Directory of FlexVolume plugins", unused=_NO_PLUGINS),
        Flag(
            "pv-recycler-increment-timeout-nfs", values.count, "Seconds for each GiB that an NFS recycler pod may run"
        ),
        Flag(
            "pv-recycler-minimum-timeout-hostpath",
            values.count,
            "Minimum number of seconds that a HostPath recycler pod may run",
        ),
        Flag(
            "pv-recycler-minimum-timeout-nfs",
            values.count,
            "Minimum number of seconds that an NFS recycler pod may run",
        ),
        Flag("pv-recycler-pod-template-filepath-hostpath", str, "File with the Pod that recycles HostPath volumes"),
        Flag("pv-recycler-pod-template-filepath-nfs", str, "File with the Pod that recycles NFS volumes"),
        Flag(
            "pv-recycler-timeout-increment-hostpath",
            values.count,
            "Seconds for each GiB that a HostPath recycler pod may run",
        ),
        Flag("pvclaimbinder-sync-period", values.duration, "Period for syncing PersistentVolumes and their claims"),
    ),
    "pod-garbage-collector-controller": (
        Flag(
            "terminated-pod-gc-threshold",
            values.integer,
            "Number of terminated pods above which the oldest are deleted; 0 or less for no limit",
        ),
    ),
    "replicaset-controller": (_syncs("concurrent-replicaset-syncs", "ReplicaSets"),),
    "replicationcontroller-controller": (_syncs("concurrent-rc-syncs", "ReplicationControllers"),),
    "resourceclaim-controller": (_syncs("concurrent-resourceclaim-syncs", "operations"),),
    "resourcequota-controller": (
        _syncs("concurrent-resource-quota-syncs", "ResourceQuotas"),
        Flag("resource-quota-sync-period", values.duration, "Period for recalculating all quotas"),
    ),
    "serviceaccount-token-controller": (
        _syncs("concurrent-serviceaccount-token-syncs", "service account tokens"),
        Flag("root-ca-file", str, "File with the certificate authority that is published to every namespace"),
        Flag("service-account-private-key-file", str, "File with the private key that signs tokens in Secrets"),
    ),
    "ttl-after-finished-controller": (_syncs("concurrent-ttl-after-finished-syncs", "Jobs"),),
    "validatingadmissionpolicy-status-controller": (
        _syncs("concurrent-validating-admission-policy-status-syncs", "ValidatingAdmissionPolicies"),
    ),
}

CONTROLLER_MANAGER_FLAGS: Final[FlagTable] = {
    "debugging": DEBUGGING_FLAGS,
    "leader-migration": (
        Flag("enable-leader-migration", values.boolean, "Run some controllers under the lock of a migration"),
        Flag(
            "leader-migration-config",
            str,
            "File with a LeaderMigrationConfiguration (controllermanager.config.k8s.io/v1); empty for the default one",
        ),
    ),
    "generic": _GENERIC,
    **SERVING_FLAGS,
    **_CONTROLLERS,
    "metrics": METRICS_FLAGS,
    "logs": LOGS_FLAGS,
    "misc": (
        Flag("external-cloud-volume-plugin", str, "Volume plugin of an external cloud provider", unused=_NO_CLOUD),
        Flag(
            "kubeconfig",
            values.path,
            "Kubeconfig of the cluster (default $KUBECONFIG, the service account of the pod, ~/.kube/config)",
        ),
        Flag("master", str, "Address of the API server, in place of that of the kubeconfig"),
        Flag(
            "unsupported-kube-api-over-localhost",
            values.boolean,
            "Prefer the API server on localhost; a flag of OpenShift",
            unused="the API server is that of --master or --kubeconfig",
        ),
    ),
    "steersman": (
        *OWN_FLAGS,
        Flag(
            "leader-elect-identity",
            str,
            "Name of this process in elections (default the host name and a random suffix)",
        ),
    ),
}
