"""Rules of Pods and of workloads that own them, shared by controllers and scheduler; not part of the toolkit.

Between ``runtime`` and ``controllers``. Most functions are pure: typed structs in, decisions out.
"""
