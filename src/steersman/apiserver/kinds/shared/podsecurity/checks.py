"""Checks of each Pod Security Standard and their evaluation. Upstream: ``policy/registry.go``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apiserver.kinds.shared.podsecurity import baseline, restricted
from steersman.apiserver.kinds.shared.podsecurity.levels import PRIVILEGED, RESTRICTED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from steersman.apimachinery.trees import Tree
    from steersman.apiserver.kinds.shared.podsecurity.levels import Standard
    from steersman.apiserver.kinds.shared.podsecurity.violations import Violation

    Check = Callable[[dict[str, str], Tree, int], Violation | None]

#: In the order of their messages.
_BASELINE: Final[Mapping[str, Check]] = {
    "appArmorProfile": baseline.app_armor,
    "capabilities": baseline.capabilities,
    "hostNamespaces": baseline.host_namespaces,
    "hostPathVolumes": baseline.host_path_volumes,
    "hostPorts": baseline.host_ports,
    "hostProbesAndHostLifecycle": baseline.probe_hosts,
    "privileged": baseline.privileged,
    "procMount": baseline.proc_mount,
    "seLinuxOptions": baseline.selinux,
    "seccompProfile": baseline.seccomp,
    "sysctls": baseline.sysctls,
    "windowsHostProcess": baseline.windows_host_process,
}
_RESTRICTED: Final[Mapping[str, Check]] = {
    "allowPrivilegeEscalation": restricted.privilege_escalation,
    "capabilities": restricted.capabilities,
    "procMount": restricted.proc_mount,
    "volumes": restricted.volumes,
    "runAsNonRoot": restricted.run_as_non_root,
    "runAsUser": restricted.run_as_user,
    "seccompProfile": restricted.seccomp,
}
#: Baseline checks overridden by a restricted check, and the version since which they are.
_OVERRIDDEN: Final = {"capabilities": 22, "hostPathVolumes": 0, "procMount": 35, "seccompProfile": 19}


def violations(standard: Standard, metadata: Tree, spec: Tree) -> list[Violation]:
    """Return the violations of the standard by a Pod."""
    if standard.level == PRIVILEGED:
        return []
    annotations = metadata.get("annotations") or {}
    checks = list(_BASELINE.values())
    if standard.level == RESTRICTED:
        checks = [check for name, check in _BASELINE.items() if _OVERRIDDEN.get(name, 1 << 31) > standard.version]
        checks += _RESTRICTED.values()
    results = (check(annotations, spec, standard.version) for check in checks)
    return [violation for violation in results if violation is not None]
