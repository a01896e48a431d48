"""VolumeAttachments for the CSI volumes of pods (``persistentvolume-attach-detach-controller``)."""
