"""Accuracy, latency and stability of a stream: formulas without files, clocks or models."""
