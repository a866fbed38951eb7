"""Sources, instances and the pieces that travel between them and an agent."""
