"""One module a verb: what an HTTP request for objects means, and the forms that answers take."""
