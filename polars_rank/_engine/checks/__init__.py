"""Rules that data must keep: counted, proved, enforced."""
