"""Lowest and highest values over tied orders and over unknown labels.

This room searches labelings and orders of single queries, or knows the extremes in
closed form. It imports evaluation, and no other room of uncertainty.
"""
