from steersman.asynckit.clock import FakeClock
from steersman.client.workqueue import WorkQueue
from steersman.client.workqueue.metrics import NoMetrics


class RecordingMetrics(NoMetrics):
    """Metrics that record their calls."""

    def __init__(self):
        self.log = []

    def watch(self, *, depth, unfinished, longest):
        self.gauges = depth, unfinished, longest

    def added(self):
        self.log.append("added")

    def taken(self, waited_seconds):
        self.log.append(("taken", waited_seconds))

    def finished(self, worked_seconds):
        self.log.append(("finished", worked_seconds))

    def retried(self):
        self.log.append("retried")


async def test_queue_reports_each_step():
    clock, received = FakeClock(), RecordingMetrics()
    queue = WorkQueue(clock=clock, metrics=received)
    queue.add("a")
    queue.add("a")
    await clock.advance(2)
    await queue.get()
    await clock.advance(3)
    assert [ask() for ask in received.gauges] == [0, 3, 3]
    queue.done("a")
    queue.add_after("a", 1)
    assert received.log == ["added", ("taken", 2), ("finished", 3), "retried"]
    assert [ask() for ask in received.gauges] == [0, 0, 0]
    queue.shut_down()


async def test_queue_works_without_metrics():
    queue = WorkQueue(clock=FakeClock())
    queue.add_after("a", 0)
    queue.done(await queue.get())
    assert len(queue) == 0
