"""Eviction of pods from devices with untolerated ``NoExecute`` taints (``device-taint-eviction-controller``, KEP-5055).

Taints come from ResourceSlices and, if the server serves them, DeviceTaintRules.
"""
