"""Commands. ``main`` selects one; its module is imported on demand, to reduce start time."""
