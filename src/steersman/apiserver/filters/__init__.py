"""What happens to a request before its endpoint, a module each, with upstream's names. ``server.chain`` lists them."""
