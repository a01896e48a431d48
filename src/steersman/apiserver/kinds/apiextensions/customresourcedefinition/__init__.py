"""Strategy and validation of CustomResourceDefinitions. ``apiserver/crd`` serves the custom resources."""
