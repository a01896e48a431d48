"""Options of ``/metrics`` that all components have: a filter of metrics and labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.metric_filter import NO_FILTER, make_metric_filter
from steersman.controlplane.option_files import read_file
from steersman.controlplane.options import OptionError

if TYPE_CHECKING:
    from steersman.apimachinery.metric_filter import MetricFilter
    from steersman.controlplane.options import APIServerOptions
    from steersman.runtime.serving_options import ServingOptions

_MANIFEST: Final = "--allow-metric-labels-manifest"


def metric_filter(options: APIServerOptions | ServingOptions) -> MetricFilter:
    """Return the filter of the options. Raises ``OptionError``.

    ``--allow-metric-labels`` takes precedence over its manifest, as upstream.
    """
    labels, flag = options.allow_metric_labels, "--allow-metric-labels"
    if not labels and options.allow_metric_labels_manifest:
        labels, flag = (
            _read(options.allow_metric_labels_manifest),
            f"{_MANIFEST}: {options.allow_metric_labels_manifest}",
        )
    if not labels and not options.disabled_metrics:
        return NO_FILTER
    try:
        return make_metric_filter(options.disabled_metrics, labels)
    except ValueError as error:
        raise OptionError(f"{flag} {error}") from error


def _read(path: str) -> dict[str, str]:
    from steersman.apimachinery.codec import DecodeError  # noqa: PLC0415 — few servers have a manifest
    from steersman.apimachinery.yaml_codec import decode_yaml  # noqa: PLC0415

    try:
        tree = decode_yaml(read_file(_MANIFEST, Path(path))).tree
    except DecodeError as error:
        raise OptionError(f"{_MANIFEST}: {path}: {error}") from error
    if not isinstance(tree, dict) or not all(isinstance(text, str) for text in tree.values()):
        raise OptionError(f"{_MANIFEST}: {path} holds no map of metric,label to value,value")
    return tree
