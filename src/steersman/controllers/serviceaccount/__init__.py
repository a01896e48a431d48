"""ServiceAccount ``default`` of every active namespace (``serviceaccount-controller``)."""
