"""Options of ``/metrics``."""

import pytest

from steersman.apimachinery.metric_filter import NO_FILTER, make_metric_filter
from steersman.controlplane.metric_options import metric_filter
from steersman.controlplane.options import APIServerOptions, OptionError
from steersman.runtime.serving_options import ServingOptions


def test_default_options_filter_nothing():
    assert metric_filter(ServingOptions()) is metric_filter(APIServerOptions()) is NO_FILTER


def test_flag_precedes_the_manifest(tmp_path):
    path = tmp_path / "labels.yaml"
    path.write_text("metric,label: a,b\n")
    options = {"disabled_metrics": ("x",), "allow_metric_labels_manifest": str(path)}
    assert metric_filter(ServingOptions(**options)) == make_metric_filter(["x"], {"metric,label": "a,b"})
    options["allow_metric_labels"] = {"metric,label": "c"}
    assert metric_filter(ServingOptions(**options)) == make_metric_filter(["x"], {"metric,label": "c"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "--allow-metric-labels-manifest: cannot read .*/m: no such file or directory"),
        ("[1]", "--allow-metric-labels-manifest: .*/m holds no map of metric,label to value,value"),
        ("a,b: 1", "--allow-metric-labels-manifest: .*/m holds no map of metric,label to value,value"),
        ("a: [", "--allow-metric-labels-manifest: .*/m: "),
        ("a: b", "--allow-metric-labels-manifest: .*/m must have a list of kv pair"),
    ],
)
def test_manifests_that_cannot_be_used_are_rejected(tmp_path, text, message):
    path = tmp_path / "m"
    if text is not None:
        path.write_text(text)
    with pytest.raises(OptionError, match=message):
        metric_filter(ServingOptions(allow_metric_labels_manifest=str(path)))


def test_malformed_flag_is_rejected():
    with pytest.raises(OptionError, match=r"^--allow-metric-labels must have a list of kv pair"):
        metric_filter(APIServerOptions(allow_metric_labels={"a": "b"}))
