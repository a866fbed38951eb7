"""A streaming model over a manifest: the loop, its results, what is written of them."""
