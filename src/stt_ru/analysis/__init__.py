"""What the scored rows show together: where the errors are, of what kind, and how certain."""
