"""Leader election of a component by its ``--leader-elect-*`` options, classic or coordinated.

Upstream: ``k8s.io/component-base/config.LeaderElectionConfiguration``; ``createCandidate`` of ``cmd/kube-controller-manager``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from steersman.client.leaderelection import LeaderElector, LeaseLock, Timing
from steersman.client.leaderelection.candidate import Candidacy, LeaseCandidate
from steersman.version import KUBERNETES_VERSION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.runtime.context import ControllerContext

#: Number of earlier minor versions that a component can emulate.
EMULATED_MINORS: Final = 3


class LeaderElectionOptions(Protocol):
    """Options of a component that takes part in leader election."""

    @property
    def leader_elect_lease_duration_seconds(self) -> float: ...

    @property
    def leader_elect_renew_deadline_seconds(self) -> float: ...

    @property
    def leader_elect_retry_period_seconds(self) -> float: ...

    @property
    def leader_elect_resource_lock(self) -> str:
        """Type of the lock object; ``leases`` is the only one."""

    @property
    def leader_elect_resource_name(self) -> str:
        """Name of the Lease."""

    @property
    def leader_elect_resource_namespace(self) -> str:
        """Namespace of the Lease and of the LeaseCandidate."""

    @property
    def coordinated_leader_election(self) -> bool:
        """True: the API server chooses among LeaseCandidates; False: contend for the Lease."""

    @property
    def emulated_version(self) -> Sequence[str]:
        """Values of ``--emulated-version``."""


def elector_for(
    options: LeaderElectionOptions, context: ControllerContext, *, identity: str, component: str
) -> LeaderElector:
    """Return the elector of a component, with its LeaseCandidate when the election is coordinated.

    Events of ``component`` about the Lease report the leader. Raises ValueError for an unknown type of lock, inconsistent
    periods, and an emulated version out of range.
    """
    if options.leader_elect_resource_lock != "leases":
        raise ValueError(f"--leader-elect-resource-lock: unknown lock type {options.leader_elect_resource_lock!r}")
    namespace, name = options.leader_elect_resource_namespace, options.leader_elect_resource_name
    candidate = None
    if options.coordinated_leader_election:
        candidacy = Candidacy(
            namespace=namespace,
            name=identity,
            lease_name=name,
            binary_version=KUBERNETES_VERSION.removeprefix("v"),
            emulation_version=emulation_version_of(options.emulated_version),
        )
        candidate = LeaseCandidate(context.client, candidacy, dice=context.dice)
    recorder = context.events.recorder(component)
    lock = LeaseLock(context.client, namespace=namespace, name=name, identity=identity, recorder=recorder)
    timing = timing_of(options)
    return LeaderElector(lock, timing=timing, clock=context.clock, dice=context.dice, candidate=candidate)


def timing_of(options: LeaderElectionOptions) -> Timing:
    """Return the periods of an election. Raises ValueError if they are inconsistent."""
    return Timing(
        lease_duration_seconds=options.leader_elect_lease_duration_seconds,
        renew_deadline_seconds=options.leader_elect_renew_deadline_seconds,
        retry_period_seconds=options.leader_elect_retry_period_seconds,
    )


def emulation_version_of(values: Sequence[str]) -> str:
    """Return the effective version, e.g. ``1.35.0``, of ``--emulated-version`` (``kube=1.35``); the last value takes
    precedence.

    Raises ValueError with upstream's text for a version that this component cannot emulate.
    """
    binary = KUBERNETES_VERSION.removeprefix("v")
    if not values:
        return binary
    major, minor = _minor_of(binary)
    text = values[-1].rpartition("=")[2]
    if not (major, minor - EMULATED_MINORS) <= _minor_of(text) <= (major, minor):
        raise ValueError(
            f"emulation version {text.removeprefix('v')} is not between [{major}.{minor - EMULATED_MINORS}, {binary}]"
        )
    return binary if _minor_of(text) == (major, minor) else "{}.{}.0".format(*_minor_of(text))


def _minor_of(text: str) -> tuple[int, int]:
    major, minor, *_ = text.removeprefix("v").split(".")
    return int(major), int(minor)
