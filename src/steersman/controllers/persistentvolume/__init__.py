"""Claims get volumes, and volumes are reclaimed (``persistentvolume-binder-controller``).

``matching`` says which volume fits a claim, ``plan`` what a claim or a volume needs, ``binding`` how the two look when
they are bound, ``controller`` does it. Volumes are made by external provisioners; what holds data is never touched here.
"""
