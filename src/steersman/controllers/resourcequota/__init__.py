"""What is used of each quota is counted anew when something changes (``resourcequota-controller``).

Admission counts up; this controller takes back what was deleted, has ended, or was counted and then refused.
"""
