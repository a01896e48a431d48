"""HTTPS client of webhooks that objects configure: by URL or by Service. It knows no review kind."""
