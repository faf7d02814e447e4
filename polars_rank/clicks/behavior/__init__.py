"""How people use a search: measures of impressions, as ratios of sums with errors.

This room holds the words of an impression, the measures made of them, and the sums over
clusters that all estimates of click logs are made of. It imports ``log`` alone.
"""
