"""What a comparison is given: values of several systems, side by side.

This room reads values and runs, aligns systems query by query, and checks names of
procedures. It imports no other room of comparison.
"""
