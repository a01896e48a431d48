"""Binding and reclaiming of PersistentVolumes (``persistentvolume-binder-controller``).

``matching`` selects volumes for claims, ``plan`` decides for a claim or a volume, ``binding`` sets the fields of both,
``controller`` executes. External provisioners create volumes; no data is deleted here.
"""
