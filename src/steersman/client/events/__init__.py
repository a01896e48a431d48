"""Recording events, in both APIs, as client-go does.

Promises: recording never waits and never raises; at most ``QUEUE_MAX`` events wait, newer ones are dropped and counted;
events that differ in nothing are counted in one object; from the tenth different message of one reason on they are
combined; one object's events are held to 25 and one more every five minutes; repeated events.k8s.io/v1 events become a
series.
"""

from steersman.client.events.recorder import EventBroadcaster, EventRecorder, SeriesRecorder
from steersman.client.events.reference import object_reference

__all__ = ["EventBroadcaster", "EventRecorder", "SeriesRecorder", "object_reference"]
