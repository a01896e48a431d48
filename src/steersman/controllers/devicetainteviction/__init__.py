"""Pods leave devices whose ``NoExecute`` taints their claims do not tolerate (``device-taint-eviction-controller``).

KEP-5055. Taints are those that drivers put into ResourceSlices and, where the server serves them, those of DeviceTaintRules.
"""
