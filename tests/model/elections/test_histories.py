"""Random histories of elections. Long runs: ``scripts/histories.py elections --seeds 10000``."""

from tests.model.elections.histories import play

from steersman.testing.simulation import repeat_command, seeds_to_run


def test_election_histories_have_one_holder_and_converge_to_the_best():
    for seed in seeds_to_run(range(300)):
        try:
            play(seed)
        except AssertionError as error:
            raise AssertionError(f"seed {seed} fails: {error}\nrepeat it with: {repeat_command(seed)}") from error
