"""Chunks and the queues that carry them between the sender, the model and the caller."""
