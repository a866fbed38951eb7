"""What was right at each moment of a stream: formulas without files, clocks or models."""
