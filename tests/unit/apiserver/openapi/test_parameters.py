"""Parameters in both dialects."""

import pytest

from steersman.apiserver.openapi import operations, parameters


def test_query_has_schema_in_version_3():
    assert parameters.query("limit", v3=False)["type"] == "integer"
    assert parameters.query("limit", v3=True)["schema"]["type"] == "integer"


def test_path_parameters_are_required():
    assert parameters.path("name", v3=True)["required"] is True


@pytest.mark.parametrize(
    "name",
    {
        *operations.LIST_PARAMETERS,
        *operations.WRITE_PARAMETERS,
        *operations.DELETE_PARAMETERS,
        *operations.LOG_PARAMETERS,
        *operations.EXEC_PARAMETERS,
    },
)
def test_every_used_parameter_is_described(name):
    assert parameters.query(name, v3=False)["description"]
