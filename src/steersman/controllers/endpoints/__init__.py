"""Endpoints of Services: EndpointSlices, Endpoints, and mirrored slices of custom Endpoints.

Three controllers in one package, which share the rules for endpoints of pods and the packing of slices.
"""
