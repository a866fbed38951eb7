"""An agent over a dataset: the request, the loop, the folder it leaves, the table."""
