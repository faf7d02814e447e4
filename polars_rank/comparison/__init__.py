"""From numbers to decisions: compare systems, gate a change, plan a test."""
