"""Files and folders that survive whatever kills the process."""
