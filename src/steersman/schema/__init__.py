"""What types and resources there are, and how an object tree becomes what Go would hold of it.

Promises: pure (no clock, loop or dice); nothing is read before it is asked for; what is loaded is never changed, so
every caller may keep and share it; decoding never changes the tree that it was given.
"""
