"""Checks of the level baseline, which prevents known privilege escalations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.gotext import quote
from steersman.apiserver.kinds.shared.podsecurity.violations import (
    Violation,
    containers,
    context_of,
    in_user_namespace,
    named,
    names_where,
    plural,
    quoted,
    setters,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steersman.apimachinery.trees import Tree

_APP_ARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_SECCOMP_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER: Final = "container.seccomp.security.alpha.kubernetes.io/"
_LOCAL: Final = "localhost/"
_CAPABILITIES: Final = frozenset(
    {
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    }
)
_SELINUX_TYPES: Final = ("", "container_t", "container_init_t", "container_kvm_t")
#: Allowed sysctls, by the version that added them.
_SYSCTLS: Final = {
    "kernel.shm_rmid_forced": 0,
    "net.ipv4.ip_local_port_range": 0,
    "net.ipv4.ip_unprivileged_port_start": 0,
    "net.ipv4.tcp_syncookies": 0,
    "net.ipv4.ping_group_range": 0,
    "net.ipv4.ip_local_reserved_ports": 27,
    "net.ipv4.tcp_keepalive_time": 29,
    "net.ipv4.tcp_fin_timeout": 29,
    "net.ipv4.tcp_keepalive_intvl": 29,
    "net.ipv4.tcp_keepalive_probes": 29,
    "net.ipv4.tcp_rmem": 32,
    "net.ipv4.tcp_wmem": 32,
}
PROFILES: Final = ("RuntimeDefault", "Localhost")
_UNSET_OR_PROFILE: Final = (None, *PROFILES)


def app_armor(annotations: dict[str, str], spec: Tree, _: int) -> Violation | None:
    """Check AppArmor profiles: runtime/default or localhost only."""

    def is_bad(context: Tree) -> bool:
        return (context.get("appArmorProfile") or {}).get("type") not in _UNSET_OR_PROFILE

    subjects = setters(spec, is_bad)
    holders = [context_of(spec), *map(context_of, containers(spec))]
    values = sorted({context["appArmorProfile"]["type"] for context in holders if is_bad(context)})
    bad = [
        f"{name}={quote(text)}"
        for name, text in sorted(annotations.items())
        if name.startswith(_APP_ARMOR) and text not in ("", "runtime/default") and not text.startswith(_LOCAL)
    ]
    values += bad
    if not values:
        return None
    subjects = " and ".join(filter(None, (subjects, plural("annotation", "annotations", len(bad)) if bad else "")))
    reason = plural("forbidden AppArmor profile", "forbidden AppArmor profiles", len(values))
    return Violation(reason, f"{subjects} must not set AppArmor profile type to {quoted(values)}")


def capabilities(_: dict[str, str], spec: Tree, __: int) -> Violation | None:
    """Check added capabilities: those of the default set only."""
    added = {container.get("name", ""): _added(container) - _CAPABILITIES for container in containers(spec)}
    bad = [name for name, extra in added.items() if extra]
    if not bad:
        return None
    listed = quoted(sorted(set().union(*added.values())))
    detail = f"{named(bad)} must not include {listed} in securityContext.capabilities.add"
    return Violation("non-default capabilities", detail)


def _added(container: Tree) -> set[str]:
    return set((context_of(container).get("capabilities") or {}).get("add") or ())


def host_namespaces(_: dict[str, str], spec: Tree, __: int) -> Violation | None:
    """Check host namespaces: none."""
    used = [f"{name}=true" for name in ("hostNetwork", "hostPID", "hostIPC") if spec.get(name)]
    return Violation("host namespaces", ", ".join(used)) if used else None


def host_path_volumes(_: dict[str, str], spec: Tree, __: int) -> Violation | None:
    """Check for hostPath volumes: none."""
    bad = [volume.get("name", "") for volume in spec.get("volumes") or () if volume.get("hostPath") is not None]
    if not bad:
        return None
    return Violation("hostPath volumes", f"{plural('volume', 'volumes', len(bad))} {quoted(bad)}")


def host_ports(_: dict[str, str], spec: Tree, __: int) -> Violation | None:
    """Check host ports: none."""
    bad = names_where(spec, _host_ports)
    if not bad:
        return None
    ports = sorted({str(port) for container in containers(spec) for port in _host_ports(container)})
    use, word = plural("uses", "use", len(bad)), plural("hostPort", "hostPorts", len(ports))
    return Violation("hostPort", f"{named(bad)} {use} {word} {', '.join(ports)}")


def _host_ports(container: Tree) -> list[int]:
    return [port["hostPort"] for port in container.get("ports") or () if port.get("hostPort")]


def probe_hosts(_: dict[str, str], spec: Tree, version: int) -> Violation | None:
    """Check hosts of probes and lifecycle handlers: only the Pod itself."""
    if version < 34:
        return None
    bad = sorted(set(names_where(spec, lambda container: list(_hosts(container)))))
    if not bad:
        return None
    hosts = sorted({host for container in containers(spec) for host in _hosts(container)})
    use, word = plural("uses", "use", len(bad)), plural("host", "hosts", len(hosts))
    return Violation("probe or lifecycle host", f"{named(bad)} {use} probe or lifecycle {word} {quoted(hosts)}")


def _hosts(container: Tree) -> Iterator[str]:
    lifecycle = container.get("lifecycle") or {}
    handlers = [container.get(name) for name in ("livenessProbe", "readinessProbe", "startupProbe")]
    handlers += [lifecycle.get("postStart"), lifecycle.get("preStop")]
    for handler in handlers:
        for kind in ("httpGet", "tcpSocket"):
            host = ((handler or {}).get(kind) or {}).get("host")
            if host:
                yield host


def privileged(_: dict[str, str], spec: Tree, __: int) -> Violation | None:
    """Check for privileged containers: none."""
    bad = names_where(spec, lambda container: context_of(container).get("privileged"))
    return Violation("privileged", f"{named(bad)} must not set securityContext.privileged=true") if bad else None


def proc_mount(_: dict[str, str], spec: Tree, version: int) -> Violation | None:
    """Check ``procMount``: default only, except, since 1.35, in a user namespace."""
    return None if version >= 35 and in_user_namespace(spec) else bad_proc_mount(spec)


def bad_proc_mount(spec: Tree) -> Violation | None:
    """Return the bad ``procMount`` of containers."""

    def mount(container: Tree) -> str:
        kind = context_of(container).get("procMount") or "Default"
        return "" if kind == "Default" else str(kind)

    bad = names_where(spec, mount)
    if not bad:
        return None
    kinds = quoted(sorted({mount(container) for container in containers(spec)} - {""}))
    return Violation("procMount", f"{named(bad)} must not set securityContext.procMount to {kinds}")


def selinux(_: dict[str, str], spec: Tree, version: int) -> Violation | None:
    """Check SELinux options: container types only, without user and role."""
    types = (*_SELINUX_TYPES, "container_engine_t") if version >= 31 else _SELINUX_TYPES

    def options(context: Tree) -> Tree:
        return context.get("seLinuxOptions") or {}

    def is_bad(context: Tree) -> bool:
        options_of_holder = options(context)
        return (options_of_holder.get("type") or "") not in types or bool(
            options_of_holder.get("user") or options_of_holder.get("role")
        )

    subjects = setters(spec, is_bad)
    if not subjects:
        return None
    holders = [options(context_of(spec)), *(options(context_of(container)) for container in containers(spec))]
    wrong = sorted({selinux_options.get("type") or "" for selinux_options in holders} - set(types))
    details = [f"{plural('type', 'types', len(wrong))} {quoted(wrong)}"] if wrong else []
    details += [
        f"{name} may not be set"
        for name in ("user", "role")
        if any(selinux_options.get(name) for selinux_options in holders)
    ]
    return Violation("seLinuxOptions", f"{subjects} set forbidden securityContext.seLinuxOptions: {'; '.join(details)}")


def seccomp(annotations: dict[str, str], spec: Tree, version: int) -> Violation | None:
    """Check seccomp profiles: not Unconfined if set."""
    if version < 19:
        return _seccomp_annotations(annotations, spec)
    return bad_seccomp(spec)


def bad_seccomp(spec: Tree) -> Violation | None:
    """Return the bad seccomp profiles of the Pod and its containers."""

    def is_bad(context: Tree) -> bool:
        return (context.get("seccompProfile") or {}).get("type", PROFILES[0]) not in PROFILES

    subjects = setters(spec, is_bad)
    if not subjects:
        return None
    holders = [context_of(spec), *map(context_of, containers(spec))]
    values = quoted(sorted({context["seccompProfile"]["type"] for context in holders if is_bad(context)}))
    return Violation("seccompProfile", f"{subjects} must not set securityContext.seccompProfile.type to {values}")


def _seccomp_annotations(annotations: dict[str, str], spec: Tree) -> Violation | None:
    names = [_SECCOMP_POD, *(_SECCOMP_CONTAINER + container.get("name", "") for container in containers(spec))]
    allowed = ("runtime/default", "docker/default", "")
    bad = sorted(
        f"{name}={quote(annotations[name])}"
        for name in names
        if name in annotations and annotations[name] not in allowed and not annotations[name].startswith(_LOCAL)
    )
    if not bad:
        return None
    return Violation("seccompProfile", f"forbidden {plural('annotation', 'annotations', len(bad))} {', '.join(bad)}")


def sysctls(_: dict[str, str], spec: Tree, version: int) -> Violation | None:
    """Check sysctls: allowed ones only."""
    sysctl_names = [sysctl.get("name", "") for sysctl in context_of(spec).get("sysctls") or ()]
    bad = [name for name in sysctl_names if _SYSCTLS.get(name, version + 1) > version]
    return Violation("forbidden sysctls", ", ".join(bad)) if bad else None


def windows_host_process(_: dict[str, str], spec: Tree, __: int) -> Violation | None:
    """Check for Windows HostProcess containers: none."""
    subjects = setters(spec, lambda context: (context.get("windowsOptions") or {}).get("hostProcess"))
    if not subjects:
        return None
    return Violation("hostProcess", f"{subjects} must not set securityContext.windowsOptions.hostProcess=true")
