"""ResourceClaims of pods: creation from templates, reservation, release (``resourceclaim-controller``, KEP-4381)."""
