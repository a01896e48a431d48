"""Claims of generic ephemeral volumes (``ephemeral-volume-controller``, KEP-1698)."""
