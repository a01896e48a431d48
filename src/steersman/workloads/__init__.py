"""Rules of pods and of the workloads that own them, which controllers and scheduler share; not part of the toolkit.

Most are pure: typed structs in, decisions out.
"""
