"""Registry of kube-controller-manager 1.36's controllers and those of installed packages: names, identity, constructor.

Names, aliases and defaults are upstream's (``cmd/kube-controller-manager/names`` and ``app``). To add a controller to
Steersman write its module with a function ``build(context)``, and name the module in its line here; other packages
register theirs by an entry point (``entry_points``).
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from steersman.controllers.entry_points import installed_controllers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from steersman.controllers.context import ControllerContext
    from steersman.controllers.entry_points import InstalledController
    from steersman.runtime.controller import Controller

_PACKAGE: Final = "steersman.controllers."


class Registration(NamedTuple):
    """Registered controller."""

    #: Name for ``--controllers``.
    name: str
    #: Module below ``steersman.controllers`` with a function ``build``; empty if not part of this release.
    module: str = ""
    #: Name before 1.28, also accepted by ``--controllers``.
    alias: str = ""
    #: ServiceAccount in ``kube-system``; its role is bootstrapped by the API server.
    service_account: str = ""
    #: Required ``group/version resource``; the controller is skipped, with a log message, if one is not served.
    needs: tuple[str, ...] = ()
    on_by_default: bool = True
    #: Controller of another package, in place of ``module``.
    installed: InstalledController | None = None

    @property
    def is_available(self) -> bool:
        """True if the controller is part of this release or of an installed package."""
        return bool(self.module) or self.installed is not None

    @property
    def build(self) -> Callable[[ControllerContext], Controller | None]:
        """Constructor of the controller with its informers, handlers and queue; returns None if disabled by options.

        Raises ImportError for a controller that is not part of this release, RegistryError for one of another package
        that cannot be imported.
        """
        if self.installed is not None:
            return self.installed.load()
        if not self.module:
            raise ImportError(f"{self.name} is not part of this release")
        build: Callable[[ControllerContext], Controller | None] = importlib.import_module(_PACKAGE + self.module).build
        return build


#: Controllers of the cloud-controller-manager; their names are valid for ``--controllers`` and leader migration.
CLOUD_CONTROLLERS: Final = frozenset(
    {"service-lb-controller", "node-route-controller", "cloud-node-lifecycle-controller"}
)

_R = Registration

#: In start order; the token controller first, as upstream.
REGISTRY: Final[tuple[Registration, ...]] = (
    _R("serviceaccount-token-controller", "serviceaccounttoken.controller", alias="serviceaccount-token",
       service_account=""),
    _R("endpoints-controller", "endpoints.endpoints", alias="endpoint", service_account="endpoint-controller"),
    _R("endpointslice-controller", "endpoints.endpointslices", alias="endpointslice", service_account="endpointslice-controller",
       needs=("discovery.k8s.io/v1 endpointslices",)),
    _R("endpointslice-mirroring-controller", "endpoints.mirroring", alias="endpointslicemirroring",
       service_account="endpointslicemirroring-controller", needs=("discovery.k8s.io/v1 endpointslices",)),
    _R("replicationcontroller-controller", "replication.replicationcontroller", alias="replicationcontroller",
       service_account="replication-controller"),
    _R("pod-garbage-collector-controller", "podgc.controller", alias="podgc", service_account="pod-garbage-collector"),
    _R("resourcequota-controller", "resourcequota.controller", alias="resourcequota",
       service_account="resourcequota-controller"),
    _R("namespace-controller", "namespace.controller", alias="namespace", service_account="namespace-controller"),
    _R("serviceaccount-controller", "serviceaccount.controller", alias="serviceaccount",
       service_account="service-account-controller"),
    _R("garbage-collector-controller", "garbagecollector.controller", alias="garbagecollector",
       service_account="generic-garbage-collector"),
    _R("daemonset-controller", "daemonset.controller", alias="daemonset", service_account="daemon-set-controller",
       needs=("apps/v1 daemonsets",)),
    _R("job-controller", "job.controller", alias="job", service_account="job-controller", needs=("batch/v1 jobs",)),
    _R("deployment-controller", "deployment.controller", alias="deployment", service_account="deployment-controller",
       needs=("apps/v1 deployments",)),
    _R("replicaset-controller", "replication.replicaset", alias="replicaset", service_account="replicaset-controller",
       needs=("apps/v1 replicasets",)),
    _R("horizontal-pod-autoscaler-controller", "podautoscaler.controller", alias="horizontalpodautoscaling",
       service_account="horizontal-pod-autoscaler", needs=("autoscaling/v2 horizontalpodautoscalers",)),
    _R("disruption-controller", "disruption.controller", alias="disruption", service_account="disruption-controller",
       needs=("policy/v1 poddisruptionbudgets",)),
    _R("statefulset-controller", "statefulset.controller", alias="statefulset", service_account="statefulset-controller",
       needs=("apps/v1 statefulsets",)),
    _R("cronjob-controller", "cronjob.controller", alias="cronjob", service_account="cronjob-controller", needs=("batch/v1 cronjobs",)),
    _R("certificatesigningrequest-signing-controller", "certificates.signing", alias="csrsigning",
       service_account="certificate-controller",
       needs=("certificates.k8s.io/v1 certificatesigningrequests",)),
    _R("certificatesigningrequest-approving-controller", "certificates.approving", alias="csrapproving",
       service_account="certificate-controller", needs=("certificates.k8s.io/v1 certificatesigningrequests",)),
    _R("certificatesigningrequest-cleaner-controller", "certificates.cleaner", alias="csrcleaner",
       service_account="certificate-controller",
       needs=("certificates.k8s.io/v1 certificatesigningrequests",)),
    _R("podcertificaterequest-cleaner-controller", "certificates.pod_request_cleaner",
       service_account="podcertificaterequestcleaner",
       needs=("certificates.k8s.io/v1beta1 podcertificaterequests",)),
    _R("ttl-controller", "ttl.controller", alias="ttl", service_account="ttl-controller"),
    _R("bootstrap-signer-controller", "bootstraptokens.signer", alias="bootstrapsigner",
       service_account="bootstrap-signer",
       on_by_default=False),
    _R("token-cleaner-controller", "bootstraptokens.cleaner", alias="tokencleaner",
       service_account="token-cleaner", on_by_default=False),
    _R("node-ipam-controller", "nodeipam.controller", alias="nodeipam", service_account="node-controller"),
    _R("node-lifecycle-controller", "nodelifecycle.controller", alias="nodelifecycle",
       service_account="node-controller"),
    _R("taint-eviction-controller", "tainteviction.controller", service_account="node-controller"),
    _R("device-taint-eviction-controller", "devicetainteviction.controller",
       service_account="device-taint-eviction-controller", needs=("resource.k8s.io/v1 resourceslices",)),
    _R("persistentvolume-binder-controller", "persistentvolume.controller", alias="persistentvolume-binder",
       service_account="persistent-volume-binder"),
    _R("persistentvolume-attach-detach-controller", "attachdetach.controller", alias="attachdetach", service_account="attachdetach-controller",
       needs=("storage.k8s.io/v1 volumeattachments",)),
    _R("persistentvolume-expander-controller", "volumeexpander.controller", alias="persistentvolume-expander",
       service_account="expand-controller"),
    _R("clusterrole-aggregation-controller", "clusterroleaggregation.controller", alias="clusterrole-aggregation",
       service_account="clusterrole-aggregation-controller", needs=("rbac.authorization.k8s.io/v1 clusterroles",)),
    _R("persistentvolumeclaim-protection-controller", "protection.claims", alias="pvc-protection",
       service_account="pvc-protection-controller"),
    _R("persistentvolume-protection-controller", "protection.volumes", alias="pv-protection",
       service_account="pv-protection-controller"),
    _R("volumeattributesclass-protection-controller", "protection.attributes_classes",
       service_account="volumeattributesclass-protection-controller",
       needs=("storage.k8s.io/v1 volumeattributesclasses",)),
    _R("podgroup-protection-controller", "protection.pod_groups", service_account="podgroup-protection-controller",
       needs=("scheduling.k8s.io/v1alpha2 podgroups",)),
    _R("ttl-after-finished-controller", "ttlafterfinished.controller", alias="ttl-after-finished",
       service_account="ttl-after-finished-controller",
       needs=("batch/v1 jobs",)),
    _R("root-ca-certificate-publisher-controller", "rootca.controller", alias="root-ca-cert-publisher",
       service_account="root-ca-cert-publisher"),
    _R("kube-apiserver-serving-clustertrustbundle-publisher-controller", "rootca.trust_bundles",
       service_account="kube-apiserver-serving-clustertrustbundle-publisher",
       needs=("certificates.k8s.io/v1beta1 clustertrustbundles",)),
    _R("ephemeral-volume-controller", "ephemeralvolume.controller", alias="ephemeral-volume",
       service_account="ephemeral-volume-controller"),
    _R("storageversion-garbage-collector-controller", "storageversiongc.controller", alias="storage-version-gc",
       service_account="storageversion-garbage-collector",
       needs=("internal.apiserver.k8s.io/v1alpha1 storageversions",)),
    _R("storage-version-migrator-controller", "storageversionmigrator.controller",
       service_account="storage-version-migrator-controller",
       needs=("storagemigration.k8s.io/v1beta1 storageversionmigrations",)),
    _R("resourceclaim-controller", "resourceclaim.controller", alias="resource-claim-controller",
       service_account="resource-claim-controller",
       needs=("resource.k8s.io/v1 resourceclaims",)),
    _R("resourcepoolstatusrequest-controller", "resourcepoolstatus.controller",
       service_account="resourcepoolstatusrequest-controller",
       needs=("resource.k8s.io/v1alpha3 resourcepoolstatusrequests",)),
    _R("legacy-serviceaccount-token-cleaner-controller", "legacytokencleaner.controller",
       alias="legacy-service-account-token-cleaner",
       service_account="legacy-service-account-token-cleaner"),
    _R("validatingadmissionpolicy-status-controller", "admissionpolicystatus.controller",
       service_account="validatingadmissionpolicy-status-controller",
       needs=("admissionregistration.k8s.io/v1 validatingadmissionpolicies",)),
    _R("service-cidr-controller", service_account="service-cidrs-controller",
       needs=("networking.k8s.io/v1 servicecidrs",)),
    _R("service-lb-controller", alias="service", service_account="service-controller"),
    _R("node-route-controller", alias="route", service_account="route-controller"),
    _R("cloud-node-lifecycle-controller", alias="cloud-node-lifecycle", service_account="cloud-node-lifecycle-controller"),
    _R("selinux-warning-controller", "selinuxwarning.controller", service_account="selinux-warning-controller",
       needs=("storage.k8s.io/v1 csidrivers",), on_by_default=False),
)  # fmt: skip


@cache
def installed() -> tuple[Registration, ...]:
    """Return the controllers of installed packages; each acts as the account of its name. Raises RegistryError."""
    reserved = {name for entry in REGISTRY for name in (entry.name, entry.alias)}
    return tuple(
        Registration(
            installed_controller.name, service_account=installed_controller.name, installed=installed_controller
        )
        for installed_controller in installed_controllers(reserved)
    )


def registered() -> tuple[Registration, ...]:
    """Return all controllers in the order in which they are started. Raises RegistryError."""
    return (*REGISTRY, *installed())


def find(name: str) -> Registration | None:
    """Return the controller of that name or alias. Raises RegistryError if installed packages must be read and one is broken."""
    if not name:
        return None
    for entry in REGISTRY:
        if name in (entry.name, entry.alias):
            return entry
    return next((entry for entry in installed() if entry.name == name), None)


def is_enabled(entry: Registration, selection: Sequence[str]) -> bool:
    """Report whether ``--controllers`` enables a controller: ``name`` enables it, ``-name`` disables it, ``*`` enables all on
    by default. The first match takes precedence, as in upstream's ``IsControllerEnabled``.
    """
    names = {entry.name, entry.alias} - {""}
    for word in selection:
        if word in names:
            return True
        if word.startswith("-") and word[1:] in names:
            return False
    return "*" in selection and entry.on_by_default


def preload(selection: Sequence[str] = ("*",)) -> None:
    """Import the modules of the controllers that ``--controllers`` enables.

    The import would block an event loop from handling signals; it needs no server. ``load_installed`` imports controllers of
    other packages.
    """
    for entry in REGISTRY:
        if entry.module and is_enabled(entry, selection):
            importlib.import_module(_PACKAGE + entry.module)


def load_installed(selection: Sequence[str]) -> None:
    """Import the controllers of installed packages that ``--controllers`` enables. Raises RegistryError."""
    for entry in installed():
        if is_enabled(entry, selection):
            _ = entry.build


def unknown(selection: Sequence[str]) -> list[str]:
    """Return the unknown names in ``--controllers``."""
    return [word for word in selection if word != "*" and find(word.removeprefix("-")) is None]
