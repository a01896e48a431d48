"""Leader election over a Lease, and the candidate's side of coordinated leader election (KEP-4355).

Upstream: ``k8s.io/client-go/tools/leaderelection``. Promises, each with its test: never two leaders at once under the
assumptions listed in ``rules``; the age of a lease is measured from the local observation of a change, never from its
timestamps; a leader renews without reading; work has ended before the lease is released, also after cancellation; after
a release another contender leads at once, after a crash within the lease duration plus one retry period.
"""

from steersman.client.leaderelection.elector import LeaderElector, TermEnd
from steersman.client.leaderelection.lock import LeaseLock, Lock, ObservedRecord
from steersman.client.leaderelection.record import LeaderElectionRecord
from steersman.client.leaderelection.rules import Timing

__all__ = ["LeaderElectionRecord", "LeaderElector", "LeaseLock", "Lock", "ObservedRecord", "TermEnd", "Timing"]
