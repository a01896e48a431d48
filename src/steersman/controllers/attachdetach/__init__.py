"""Volumes of drivers are attached to the Nodes of their pods, as objects (``persistentvolume-attach-detach-controller``)."""
