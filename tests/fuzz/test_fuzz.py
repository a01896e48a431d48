"""Replay of the fuzzing corpus, and a short run of each target with a fixed seed (long runs: ``scripts/fuzz.py``)."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from tests.fuzz import corpus, targets
from tests.fuzz.targets import api_requests

#: Inputs of a run; targets with slow inputs have fewer.
EXAMPLES = {"api_requests": 20, "http_connection": 50, "crd_schemas": 60, "cel_expressions": 80}
EXAMPLES_DEFAULT = 100


@pytest.fixture(scope="module", autouse=True)
def _server():
    yield
    api_requests.close()


@pytest.mark.parametrize("name", targets.NAMES)
def test_corpus_of_target_passes(name):
    target = targets.load(name)
    stored = corpus.files(name)
    assert stored
    for path in stored:
        try:
            target.run(path.read_bytes())
        except BaseException as error:
            error.add_note(f"corpus file: {path}")
            raise


@pytest.mark.parametrize("name", targets.NAMES)
def test_target_passes_for_generated_inputs(name):
    target = targets.load(name)

    @settings(
        max_examples=EXAMPLES.get(name, EXAMPLES_DEFAULT),
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.explicit, Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(corpus.inputs(target))
    def check(data: bytes) -> None:
        target.run(data)

    check()


def test_target_names_have_modules_and_corpora():
    assert sorted(path.name for path in corpus.FOLDER.iterdir()) == sorted(targets.NAMES)


def test_unknown_target_is_rejected():
    with pytest.raises(KeyError):
        targets.load("x")
