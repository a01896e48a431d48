from __future__ import annotations

import pytest

from steersman.apimachinery.errors import StatusError
from steersman.apiserver.endpoints.query_objects import read_query_object


def read(kind: str, **query: list[str]) -> dict[str, object]:
    tree = read_query_object(kind, query)
    assert (tree.pop("kind"), tree.pop("apiVersion")) == (kind, "v1")
    return tree


def test_query_parameters_are_decoded_by_field_type():
    assert read(
        "PodLogOptions",
        container=["c"],
        follow=["true"],
        previous=["0"],
        sinceSeconds=["-5"],
        sinceTime=["2024-05-01T12:00:00+02:00"],
        tailLines=["0"],
        unknown=["x"],
    ) == {"container": "c", "follow": True, "sinceSeconds": -5, "sinceTime": "2024-05-01T10:00:00Z", "tailLines": 0}
    assert read("PodExecOptions", command=["ls", "-l"], tty=[""], stdin=["False"]) == {
        "command": ["ls", "-l"],
        "tty": True,
    }
    assert read("PodPortForwardOptions", ports=["80", "81"]) == {"ports": [80, 81]}
    assert read("NodeProxyOptions", path=["/a"]) == {"path": "/a"}


def test_empty_strings_and_times_are_unset():
    assert read("PodLogOptions", container=[""], sinceTime=["null"], stream=[""]) == {}


@pytest.mark.parametrize(
    ("kind", "query", "message"),
    [
        ("PodLogOptions", {"tailLines": ["many"]}, 'strconv.ParseInt: parsing "many": invalid syntax'),
        ("PodPortForwardOptions", {"ports": [str(2**31)]}, 'parsing "2147483648": value out of range'),
        ("PodLogOptions", {"sinceTime": ["soon"]}, 'parsing time "soon" as'),
    ],
)
def test_invalid_numbers_and_times_are_400(kind, query, message):
    with pytest.raises(StatusError) as refused:
        read_query_object(kind, query)
    assert refused.value.code == 400
    assert message in refused.value.message
