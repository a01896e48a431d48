"""Validation of the options of clients of the API server: values that depend on each other, and files.

Each function raises ``OptionError``. Upstream: ``k8s.io/component-base/config/validation`` for leader election,
``cmd/kube-controller-manager/app/options`` for the rest.
"""

from __future__ import annotations

import ssl
from ipaddress import ip_network
from pathlib import Path
from typing import TYPE_CHECKING

from steersman.controllers.manager.leader_migration import read_leader_migration
from steersman.controlplane.metric_options import metric_filter
from steersman.controlplane.option_files import check_key_pair, check_readable
from steersman.controlplane.options import OptionError, flag_of
from steersman.controlplane.tls_options import check_named_cert_keys, check_tls_policy
from steersman.runtime.leader_election import emulation_version_of, timing_of

if TYPE_CHECKING:
    from steersman.controllers.manager.options import ManagerOptions
    from steersman.nodes.options import NodesOptions
    from steersman.runtime.serving_options import ServingOptions
    from steersman.scheduler.options import SchedulerOptions


def check_kubeconfig(path: Path | None) -> None:
    """Reject an unreadable ``--kubeconfig``."""
    if path is not None:
        check_readable("--kubeconfig", path)


def check_leader_election(options: ManagerOptions | SchedulerOptions) -> None:
    """Reject inconsistent periods, unless leader election is off."""
    check_kubeconfig(options.kubeconfig)
    if options.leader_elect_resource_lock != "leases":
        raise OptionError(
            f'--leader-elect-resource-lock: "{options.leader_elect_resource_lock}" is not supported, expected leases'
        )
    try:
        emulation_version_of(options.emulated_version)
    except ValueError as error:
        raise OptionError(f"--emulated-version: {error}") from error
    if not options.leader_elect:
        return
    try:
        timing_of(options)
    except ValueError as error:
        raise OptionError(f"--leader-elect: {error}") from error


def check_controllers(options: ManagerOptions) -> None:
    """Reject options that a controller would reject later, or that would disable it."""
    check_leader_election(options)
    _check_files(options)
    _check_contents(options)
    for flag, text in (
        ("--cluster-cidr", options.cluster_cidr),
        ("--service-cluster-ip-range", options.service_cluster_ip_range),
    ):
        for part in filter(None, map(str.strip, text.split(","))):
            _check_cidr(flag, part)
    if options.cidr_allocator_type != "RangeAllocator":
        raise OptionError(
            f'--cidr-allocator-type: "{options.cidr_allocator_type}" is not supported, expected RangeAllocator'
        )
    if options.allocate_node_cidrs:
        from steersman.controllers.nodeipam.controller import ranges  # noqa: PLC0415 — few allocate ranges

        try:
            ranges(options)
        except ValueError as error:
            raise OptionError(f"--allocate-node-cidrs: {error}") from error


def check_serving(options: ServingOptions) -> list[str]:
    """Return warnings to log. Rejects unreadable or invalid files, unknown cipher suites and curves, and paths with a ``*`` that
    is not their last character.
    """
    from steersman.runtime.delegated_access import PathMatcher  # noqa: PLC0415 — ``up`` does without

    if bool(options.tls_cert_file) != bool(options.tls_private_key_file):
        raise OptionError("--tls-cert-file and --tls-private-key-file need each other")
    for flag, path in (
        ("--tls-cert-file", options.tls_cert_file),
        ("--tls-private-key-file", options.tls_private_key_file),
        ("--client-ca-file", options.client_ca_file),
        ("--authentication-kubeconfig", options.authentication_kubeconfig),
        ("--authorization-kubeconfig", options.authorization_kubeconfig),
    ):
        if path:
            check_readable(flag, Path(path))
    if options.tls_cert_file:
        flags = "--tls-cert-file and --tls-private-key-file"
        check_key_pair(flags, options.tls_cert_file, options.tls_private_key_file)
    check_named_cert_keys(options)
    if options.client_ca_file:
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations(options.client_ca_file)
        except ssl.SSLError as error:
            raise OptionError(f"--client-ca-file: {options.client_ca_file} holds no PEM certificates") from error
    try:
        PathMatcher(options.authorization_always_allow_paths)
    except ValueError as error:
        raise OptionError(f"--authorization-always-allow-paths: {error}") from error
    metric_filter(options)
    return check_tls_policy(options)


def check_nodes(options: NodesOptions) -> None:
    """Reject invalid templates, stages and files."""
    check_kubeconfig(options.kubeconfig)
    files = {
        "--kubelet-certificate-file": options.kubelet_certificate_file,
        "--kubelet-key-file": options.kubelet_key_file,
        "--kubelet-client-ca-file": options.kubelet_client_ca_file,
    }
    missing = [flag for flag, path in files.items() if path is None]
    if missing and len(missing) < len(files):
        raise OptionError(f"{missing[0]} is missing: {', '.join(files)} need each other")
    for flag, path in files.items():
        if path is not None:
            check_readable(flag, path)
    try:
        options.check()
    except ValueError as error:
        raise OptionError(str(error)) from error


def _check_files(options: ManagerOptions) -> None:
    for field in options.__struct_fields__:
        value = getattr(options, field)
        if field.endswith("_file") and value:
            check_readable(flag_of(field), Path(value))
        if field.startswith("cluster_signing") and field.endswith("_cert_file"):
            key = field.removesuffix("_cert_file") + "_key_file"
            if bool(value) != bool(getattr(options, key)):
                raise OptionError(f"{flag_of(field)} and {flag_of(key)} need each other")


def _check_contents(options: ManagerOptions) -> None:
    """Reject files whose contents a controller would reject later."""
    for kind in ("hostpath", "nfs"):
        path = getattr(options, f"pv_recycler_pod_template_filepath_{kind}")
        if path:
            from steersman.controllers.persistentvolume.recycling import read_template  # noqa: PLC0415 — few have one

            try:
                read_template(path)
            except ValueError as error:
                raise OptionError(f"--pv-recycler-pod-template-filepath-{kind}: {error}") from error
    if options.enable_leader_migration:
        try:
            read_leader_migration(options.leader_migration_config)
        except ValueError as error:
            raise OptionError(f"--leader-migration-config: {error}") from error


def _check_cidr(flag: str, text: str) -> None:
    try:
        ip_network(text if "/" in text else "", strict=False)
    except ValueError:
        raise OptionError(f'{flag}: "{text}" is not a CIDR such as 10.0.0.0/24') from None
