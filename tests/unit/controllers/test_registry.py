"""Registered controllers and their selection."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest
from tests.installed import install

from steersman.controllers.entry_points import RegistryError
from steersman.controllers.registry import (
    REGISTRY,
    Registration,
    find,
    is_enabled,
    load_installed,
    registered,
    unknown,
)
from steersman.controllers.shared.base import ManagedController
from steersman.runtime.controller import Controller

ON = Registration("foo-controller", alias="foo")
OFF = Registration("bar-controller", alias="bar", on_by_default=False)


def test_names_and_aliases_are_unique():
    names = [name for entry in REGISTRY for name in (entry.name, entry.alias) if name]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("entry", [entry for entry in REGISTRY if entry.module], ids=lambda entry: entry.name)
def test_registered_controllers_can_be_built(entry):
    assert callable(entry.build)


def test_unimplemented_controllers_have_no_builder():
    with pytest.raises(ImportError, match="not part of this release"):
        _ = ON.build


@pytest.mark.parametrize(
    ("expected", "on", "off"),
    [
        (["*"], True, False),
        ([], False, False),
        (["*", "-foo-controller"], False, False),
        (["*", "-foo", "bar"], False, True),
        (["bar-controller"], False, True),
        (["foo", "-foo"], True, False),
        (["-foo", "foo"], False, False),
        (["-bar", "*"], True, False),
    ],
)
def test_controllers_flag_enables_and_disables(expected, on, off):
    """The first word that names a controller counts."""
    assert (is_enabled(ON, expected), is_enabled(OFF, expected)) == (on, off)


def test_find_accepts_names_and_aliases():
    assert find("deployment") is find("deployment-controller")


def test_find_returns_none_for_unknown_names():
    assert find("") is None


def test_unknown_returns_items_without_controller():
    assert unknown(["*", "deployment", "-podgc", "nothing", "-none"]) == ["nothing", "-none"]


def test_preload_imports_the_modules_of_enabled_controllers_only():
    code = (
        "import sys; from steersman.controllers.registry import preload; preload(('job',));"
        "print(*[name for name in sys.modules if name.startswith('steersman.controllers.') and name.count('.') == 2])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "steersman.controllers.job" in loaded
    assert "steersman.controllers.cronjob" not in loaded


def test_registered_lists_controllers_of_installed_packages_last(site):
    install(site, "acme", idle_controller="Idle")
    assert registered()[:-1] == REGISTRY
    entry = registered()[-1]
    assert (entry.name, entry.service_account, entry.is_available) == ("idle-controller", "idle-controller", True)
    assert find("idle-controller") is entry
    assert unknown(["*", "-idle-controller", "idle"]) == ["idle"]


def test_installed_controllers_are_on_by_default_and_can_be_left_out(site):
    install(site, "acme", idle_controller="Idle")
    entry = find("idle-controller")
    assert is_enabled(entry, ["*"])
    assert not is_enabled(entry, ["*", "-idle-controller"])
    assert not is_enabled(entry, ["job"])


def test_load_installed_imports_enabled_packages_only(site):
    install(site, "acme", idle_controller="Idle")
    install(site, "broken", broken_controller="Idle", text="import no_such_module")
    load_installed(["*", "-broken-controller"])
    assert "acme" in sys.modules
    with pytest.raises(RegistryError, match=r"broken-controller of broken 1\.0"):
        load_installed(["*"])


def test_registered_rejects_aliases_as_names_of_packages(site):
    install(site, "acme", podgc="Idle")
    with pytest.raises(RegistryError, match="Steersman has a controller of that name"):
        registered()


#: Names of queues in kube-controller-manager's metrics, by controller.
QUEUES = {
    "replicationcontroller-controller": "replicationmanager", "replicaset-controller": "replicaset",
    "deployment-controller": "deployment", "statefulset-controller": "statefulset", "daemonset-controller": "daemonset",
    "job-controller": "job", "cronjob-controller": "cronjob", "namespace-controller": "namespace",
    "serviceaccount-controller": "serviceaccount", "serviceaccount-token-controller": "serviceaccount_tokens_secret",
    "resourcequota-controller": "resourcequota_primary",
    "garbage-collector-controller": "garbage_collector_attempt_to_delete", "endpoints-controller": "endpoint",
    "endpointslice-controller": "endpoint_slice", "endpointslice-mirroring-controller": "endpoint_slice_mirroring",
    "pod-garbage-collector-controller": "orphaned_pods_nodes", "disruption-controller": "disruption",
    "horizontal-pod-autoscaler-controller": "horizontalpodautoscaler",
    "certificatesigningrequest-signing-controller": "certificate",
    "certificatesigningrequest-approving-controller": "certificate", "ttl-controller": "ttlcontroller",
    "bootstrap-signer-controller": "bootstrap_signer_queue", "token-cleaner-controller": "token_cleaner",
    "node-ipam-controller": "cidrallocator_node", "node-lifecycle-controller": "node_lifecycle_controller",
    "taint-eviction-controller": "noexec_taint_pod", "persistentvolume-binder-controller": "claims",
    "persistentvolume-expander-controller": "volume_expand",
    "clusterrole-aggregation-controller": "ClusterRoleAggregator",
    "persistentvolumeclaim-protection-controller": "pvcprotection",
    "persistentvolume-protection-controller": "pvprotection",
    "volumeattributesclass-protection-controller": "vacprotection",
    "ttl-after-finished-controller": "ttl_jobs_to_delete",
    "root-ca-certificate-publisher-controller": "root_ca_cert_publisher",
    "ephemeral-volume-controller": "ephemeral_volume",
    "storageversion-garbage-collector-controller": "storage_version_garbage_collector_leases",
    "resourceclaim-controller": "resource_claim",
    "validatingadmissionpolicy-status-controller": "validatingadmissionpolicy-status",
    "selinux-warning-controller": "selinux_warning",
}  # fmt: skip


@pytest.mark.parametrize(("name", "queue"), QUEUES.items())
def test_queues_have_upstreams_names_in_metrics(name, queue):
    module = importlib.import_module(f"steersman.controllers.{find(name).module}")
    classes = [
        member for member in vars(module).values() if isinstance(member, type) and issubclass(member, Controller)
    ]
    assert queue in {cls.queue_name for cls in classes}


#: Components of kube-controller-manager's events where they differ from the names of the controllers.
COMPONENTS = {
    "endpoints-controller": "endpoint-controller", "endpointslice-controller": "endpoint-slice-controller",
    "endpointslice-mirroring-controller": "endpoint-slice-mirroring-controller",
    "disruption-controller": "controllermanager", "horizontal-pod-autoscaler-controller": "horizontal-pod-autoscaler",
    "node-ipam-controller": "cidrAllocator", "node-lifecycle-controller": "node-controller",
    "persistentvolume-binder-controller": "persistentvolume-controller",
    "persistentvolume-attach-detach-controller": "attachdetach-controller",
    "persistentvolume-expander-controller": "volume_expand", "ephemeral-volume-controller": "ephemeral_volume",
    "resourceclaim-controller": "resource_claim", "selinux-warning-controller": "selinux_warning",
}  # fmt: skip


@pytest.mark.parametrize(("name", "component"), COMPONENTS.items())
def test_events_have_upstreams_component(name, component):
    module = importlib.import_module(f"steersman.controllers.{find(name).module}")
    classes = [
        member for member in vars(module).values() if isinstance(member, type) and issubclass(member, ManagedController)
    ]
    assert component in {cls.component for cls in classes}
