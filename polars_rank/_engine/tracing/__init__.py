"""Formulas are run once, before there are data: the words and sums that they ask for.

This room reads requests, their inputs and the order of rows; no plan is made here.
"""
