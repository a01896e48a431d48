"""Event recorders for both event APIs. Upstream: ``k8s.io/client-go/tools/record`` and ``tools/events``.

Contract: recording never waits and never raises; at most ``QUEUE_MAX`` events are queued, further ones are dropped and
counted; equal core/v1 events are counted in one object; from the tenth message of one group on, events are aggregated;
events of one object are limited to a burst of 25 and one per five minutes; repeated events.k8s.io/v1 events form a
series.
"""

from steersman.client.events.recorder import EventBroadcaster, EventRecorder, SeriesRecorder
from steersman.client.events.reference import object_reference

__all__ = ["EventBroadcaster", "EventRecorder", "SeriesRecorder", "object_reference"]
