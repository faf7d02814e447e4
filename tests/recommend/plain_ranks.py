"""The hash of users and EM as plain loops."""

from math import log


def plain_hash(text):
    def mixed(z):
        z = (z + 0x9E3779B97F4A7C15) % 2**64
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return z ^ (z >> 31)

    raw = text.encode()
    return mixed(
        (sum(mixed(b + 256 * i) for i, b in enumerate(raw)) + len(raw)) % 2**64
    )


def plain_em(table, counts, others=(), enough=0.01, most=10_000):
    """Return the distribution of ranks of the counts, and others by as many steps."""
    ranks, columns = len(table), len(table[0])
    found = [[1 / ranks] * ranks for _ in (counts, *others)]
    before, enough = float("-inf"), enough * min(1, 5000 / sum(counts))
    for _ in range(most):
        likelihood = 0.0
        for x in range(columns):
            if counts[x]:
                chance = sum(found[0][r] * table[r][x] for r in range(ranks))
                likelihood += counts[x] * log(chance)
        if likelihood - before < enough:
            break
        before = likelihood
        for own, seen in zip(found, (counts, *others), strict=True):
            new = [0.0] * ranks
            for x in range(columns):
                chance = sum(own[r] * table[r][x] for r in range(ranks))
                for r in range(ranks):
                    new[r] += seen[x] / sum(seen) * own[r] * table[r][x] / chance
            own[:] = new
    return found
