from lightkube.models.core_v1 import Pod

from steersman.runtime.context import ControllerContext


async def test_controllers_of_a_context_share_informers_time_and_chance(client, dice):
    context = ControllerContext(client, dice=dice)
    assert context.informers.informer(Pod) is context.informers.informer(Pod)
    assert context.clock is client.clock
    assert context.dice is dice
