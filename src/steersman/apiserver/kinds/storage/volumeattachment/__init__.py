"""Strategy and validation of VolumeAttachments."""
