"""Nodes that fall silent or say they are unwell are tainted, and their pods told of it (``node-lifecycle-controller``)."""
