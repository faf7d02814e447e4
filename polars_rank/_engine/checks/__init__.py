"""Rules for data: counted, verified, enforced."""
