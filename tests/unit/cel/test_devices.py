"""Values of the variable ``device`` of device selectors."""

from steersman.cel.devices import device_value


def test_device_value_groups_attributes_and_capacity_by_domain():
    attributes = {"model": {"string": "big"}, "rack.example.org/row": {"int": 7}}
    device = device_value("gpu.example.com", attributes, {"memory": {"value": "2Gi"}}, shared=False)
    assert device["attributes"] == {"gpu.example.com": {"model": "big"}, "rack.example.org": {"row": 7}}
    assert list(device["capacity"]["gpu.example.com"]) == ["memory"]
    assert device["attributes"]["missing.example.com"] == {}
