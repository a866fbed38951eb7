"""Reports: each module turns results into text, or text into a file."""
