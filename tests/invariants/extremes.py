"""Numbers that stand in for others, and the varints in which two of the forms keep them."""
KIB = 1024
EXTREMES = [0, -1, 1, 511, 10**12, 2**31, 2**32, 2**40, 2**53 + 1, 2**62, 2**63 - 1, 2**63 - 512, 2**64 - 1, -2**63]


def number(rng, old):
    """Another number instead of an old one: an extreme, or one beside it."""
    if isinstance(old, float):
        return rng.choice([0.0, -1.5, 1e308, 1e-300, old * 1e6, -old, 1e18])
    near = [old - 1, old + 1, old * 2, old // 2, old - 512, old + 512, old + KIB * KIB, -old, old * KIB]
    return rng.choice(rng.choice([EXTREMES, near]))


def read_varint(data, at):
    """-> (the value, where it ends); ValueError when it does not end"""
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            return value, at
