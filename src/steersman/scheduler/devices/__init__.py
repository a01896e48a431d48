"""Devices for claims (dynamic resource allocation, KEP-4381): what drivers offer, what is taken, and what is left to take.

``pools`` is what ResourceSlices say, ``catalog`` all that is known, ``requests`` what a claim asks for, ``constraints`` and
``capacity`` what limits a choice, ``allocator`` makes it, and ``results`` writes it down as a claim's status has it.
``extended`` makes claims of extended resources, ``readiness`` says when devices are ready for their pod. All of it is pure.
"""
