"""What the scored rows say together: where errors are, how certain, and of what kind."""
