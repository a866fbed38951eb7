"""Running streaming models over a manifest: the loop, its results, reports and plots."""
