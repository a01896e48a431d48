"""Usage of ResourceQuotas, recounted after changes (``resourcequota-controller``).

Admission increments the usage; this controller subtracts deleted and finished objects, and rejected requests.
"""
