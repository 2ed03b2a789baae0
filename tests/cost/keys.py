"""Keys that share one place in a table that hashes them without a secret: of libstdc++'s std::hash, of the multiplications
that stood in the program, of XXH3 and of the mixing of label sets. A seeded hash spreads them like any others."""
import itertools

WORD = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
FINALIZER = 0xFF51AFD7ED558CCD  # of MurmurHash3

# The bucket counts that an unordered_map of libstdc++ passes through as it grows; reserve(n) gives the same one where n is
# just below it.
BUCKETS = (1109, 2357, 5087, 10273, 20753, 42043, 85229, 172933, 351061)


def inverse(odd):
    return pow(odd, -1, 1 << 64)


def unshift(value, by):
    """x ^ x >> by, undone"""
    out = value
    for _ in range(64 // by):
        out = value ^ out >> by
    return out


def signed(value):
    return (value & WORD) - (1 << 64 if value >> 63 & 1 else 0)


def buckets_for(n):
    return next(count for count in BUCKETS if count >= n)


def multiple(i, n):
    """std::hash of a number is the number."""
    return (i + 1) * buckets_for(n)


def multiplied(i, n):
    """-> k with (k * GOLDEN mod 2^64) >> 7 a multiple of the bucket count"""
    return (multiple(i, n) << 7) * inverse(GOLDEN) & WORD


def line_of(i, n):
    """-> a line with line * GOLDEN a multiple of the bucket count"""
    return signed(multiple(i, n) * inverse(GOLDEN) & WORD)


def masked(i):
    """-> k whose hash, (k ^ k >> 32) * GOLDEN then ^ >> 29, ends with 32 zero bits"""
    return unshift(unshift(i + 1 << 32, 29) * inverse(GOLDEN) & WORD, 32)


def pairs(n):
    """-> (a, b) below n with a << 32 | b of one remainder by the bucket count of the 2 n pairs that a table then holds"""
    count = buckets_for(2 * n)
    for a in range(n):
        b = -(a << 32) % count
        if b < n:
            yield a, b


def run_of_bytes(i):
    """-> 32 bytes of one XXH3_64bits (no seed): the first eight are its secret's, so that their product with the next
    eight is 0 whatever these are."""
    return bytes.fromhex("b8fe6c3923a44bbe") + b"%08d" % i + b"sixteen bytes of"


def label_numbers(i, key, other, text, unit):
    """-> the numbers of two labels, of keys with these string ids, so that all such label sets have one hash"""
    def mix(value, part):
        value = (value ^ part) * FINALIZER & WORD
        return value ^ value >> 32

    def unmix(value):
        return unshift(value, 32) * inverse(FINALIZER) & WORD

    first, hashed = i * GOLDEN & WORD, GOLDEN
    for part in (key, text, first, unit, other, text):
        hashed = mix(hashed, part)
    return first, unmix(unmix(0x1234567890ABCDEF) ^ unit) ^ hashed


def texts(n):
    """-> n texts of 16 ASCII characters with one std::hash<std::string> (MurmurHash64A of libstdc++)"""
    factor, tail = 0xC6A4A7935BD1E995, 47
    back, found = inverse(factor), []
    start = 0xC70F6907 ^ 16 * factor & WORD
    for i in itertools.count():
        first = b"%08d" % i
        word = int.from_bytes(first, "little") * factor & WORD
        hashed = (start ^ (word ^ word >> tail) * factor & WORD) * factor & WORD
        data = (0x1234567890ABCDEF * back & WORD ^ hashed) * back & WORD
        second = ((data ^ data >> tail) * back & WORD).to_bytes(8, "little")
        if second.isascii() and 0 not in second:
            found.append((first + second).decode())
            if len(found) == n:
                return found


def masked_pairs(n, slots, window, exclusive, offset=(0, 0)):
    """-> up to n pairs (a, b) below n whose hash, (a << 32 | b) * GOLDEN >> 32, ends in the first slots of a table of so
    many, a power of two. exclusive: its lower half is the result, xored with the upper one. The rows that the program
    gives a and b are larger by the offset."""
    mask, places = slots - 1, {}
    for b in range(n):
        product = (b + offset[1]) * GOLDEN
        for place in range(window):
            wanted = place ^ product if exclusive else place
            places.setdefault(wanted - (product >> 32) & mask, []).append(b)
    found = ((a, b) for a in range(n) for b in places.get((a + offset[0]) * GOLDEN & mask, []) if a != b)
    return list(itertools.islice(found, n))
