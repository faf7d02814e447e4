"""The language of metrics, independent of frames."""
