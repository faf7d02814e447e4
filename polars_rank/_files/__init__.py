"""Files that are whole, and temporary folders that are removed, even after a crash."""
