"""Who may do what: the ``Authorizer`` interface, its bodies, and the words of a refusal."""
