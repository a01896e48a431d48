"""Events for claims that request expansion (``persistentvolume-expander-controller``)."""
