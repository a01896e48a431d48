"""How many pods of a budget may be disrupted now (``disruption-controller``).

Also takes back the condition ``DisruptionTarget`` of pods whose disruption did not come.
"""
