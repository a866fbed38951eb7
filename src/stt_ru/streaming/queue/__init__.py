"""Chunks and the queues that carry them between a sender, a model and a caller."""
