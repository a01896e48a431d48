"""Parts that several controllers share: their base class, pod and revision control, watches of metadata."""
