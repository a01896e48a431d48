"""Leader election over a Lease, as client-go's, and the candidate's side of coordinated election (KEP-4355).

Promises, each with its test: never two leaders at once under the assumptions that ``rules`` names; a lease's age is judged
by when a change was seen here, never by the times in it; who leads renews without reading; work that was begun under
leadership has ended before the lease is released, also when it is cancelled; after a release another leads at once, after
a crash within the lease duration and one retry period.
"""

from steersman.client.leaderelection.elector import LeaderElector, TermEnd
from steersman.client.leaderelection.lock import LeaseLock, Lock, Seen
from steersman.client.leaderelection.record import Record
from steersman.client.leaderelection.rules import Timing

__all__ = ["LeaderElector", "LeaseLock", "Lock", "Record", "Seen", "TermEnd", "Timing"]
