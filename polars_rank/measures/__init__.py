"""Measures as values and as text."""
