"""Binding and reclaiming of PersistentVolumes (``persistentvolume-binder-controller``).

``matching`` selects volumes for claims, ``plan`` decides for a claim or a volume, ``binding`` has the fields of both
when bound, ``controller`` executes. External provisioners create volumes; no data is deleted here.
"""
