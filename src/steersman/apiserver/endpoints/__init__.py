"""Endpoints of the API, one module per verb and subresource, and the representations of responses."""
