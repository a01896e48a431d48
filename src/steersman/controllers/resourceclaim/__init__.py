"""Claims for devices: made from templates for pods, reserved for them, and freed after them (``resourceclaim-controller``).

KEP-4381.
"""
