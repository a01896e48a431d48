"""Status of PodDisruptionBudgets (``disruption-controller``).

Also resets stale ``DisruptionTarget`` conditions of pods that were not disrupted.
"""
