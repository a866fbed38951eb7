"""Words that are compared: normalisation, marks in references, numbers in Russian."""
