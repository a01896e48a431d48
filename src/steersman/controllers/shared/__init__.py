"""Shared code of controllers: base class, pod and revision control, metadata watches."""
