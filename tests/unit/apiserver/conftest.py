"""Fixtures of tests of converted versions."""

import pytest
from tests.unit.apiserver.crd.converting import Converter, converted_screens


@pytest.fixture
def converter():
    return Converter()


@pytest.fixture
async def converting_server(converter):
    """API server that serves a resource in two versions, with its converter."""
    async with converted_screens(converter) as server:
        yield server
