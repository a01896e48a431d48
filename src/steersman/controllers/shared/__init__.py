"""Parts that several controllers share: base class, pod and revision control, metadata watches."""
