"""Deletion of finished Jobs after ``ttlSecondsAfterFinished`` (``ttl-after-finished-controller``)."""
