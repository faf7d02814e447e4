"""What is asked of frames."""
