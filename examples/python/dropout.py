"""Dropout by Philox4x32-10: element i is kept where the random word of i and a key is large enough, in whatever order workgroups run."""
import numpy

from inlay.codegen import Program, choose, integer, less_unsigned, line_tv, philox4x32, without_axis


# [dropout]
def dropout(target, p=0.1, type="bf16", v=8, tile=2048):
    k = Program("dropout", target, 256)
    n = k.size("n", most=1 << 28, multiple=v)
    Y, X, key = k.output("y", type, [n]), k.input("x", type, [n]), k.input("key", "i32", [2])
    def kept(x, i, k0, k1):
        w, at = philox4x32([integer(k.number(i // 4))] + 3 * [k.integer(0)], [integer(k0), integer(k1)]), integer(k.number(i % 4))
        word = choose(at & 2, choose(at & 1, w[3], w[2]), choose(at & 1, w[1], w[0]))
        return choose(less_unsigned(word, int(p * 2**32)), k.constant(0), x * (1 / (1 - p)))
    k.computes(Y, lambda i: kept(X[i], i, key[0], key[1]))
    w, tv = k.workgroups(0, n, tile), line_tv(tile, v, 256)
    keys = [k.load(k.tile(key, [1], [j]), without_axis(tv, 0), 1) for j in (0, 1)]
    k.store(k.map([k.load(k.tile(X, [tile], [w]), tv, v), *keys], lambda x, a, b: kept(x, tile * w + k.position(0), a, b), type),
            k.tile(Y, [tile], [w]), v)
    return k
# [dropout end]


def words(n, key):
    """The same by whole numbers: word i % 4 of counter i / 4."""
    counter = numpy.arange((n + 3) // 4, dtype=numpy.uint64)
    x, mask = [counter, 0 * counter, 0 * counter, 0 * counter], numpy.uint64(0xFFFFFFFF)
    k0, k1 = (numpy.uint64(v) for v in key)
    for _ in range(10):
        a, b = x[0] * numpy.uint64(0xD2511F53), x[2] * numpy.uint64(0xCD9E8D57)
        x = [(b >> numpy.uint64(32)) ^ x[1] ^ k0, b & mask, (a >> numpy.uint64(32)) ^ x[3] ^ k1, a & mask]
        k0, k1 = (k0 + numpy.uint64(0x9E3779B9)) & mask, (k1 + numpy.uint64(0xBB67AE85)) & mask
    return numpy.stack(x, 1).ravel()[:n]


def main(target="gfx942", p=0.1):
    # The words that the paper's code gives for a counter and a key of zeros (Random123, kat_vectors).
    assert [hex(w) for w in words(4, (0, 0))] == ["0x6627e8d5", "0xe169c58d", "0xbc57ac4c", "0x9b00dbd8"]
    artifact, key, random = dropout(target, p).build(), numpy.array([7, 9], numpy.int32), numpy.random.default_rng(1)
    for n in (8, 2048, 10008):
        x = (random.uniform(0.5, 1, n).astype(numpy.float32).view(numpy.uint32) >> 16).astype(numpy.uint16)
        y = numpy.zeros(n, numpy.uint16)
        artifact.run(y, x, key, n=n, check="all", stress=2)
        x, y = ((v.astype(numpy.uint32) << 16).view(numpy.float32) for v in (x, y))
        kept = words(n, key) >= int(p * 2**32)
        numpy.testing.assert_array_equal(y != 0, kept)
        numpy.testing.assert_allclose(y, kept * x / (1 - p), rtol=2**-8)
    return artifact


if __name__ == "__main__":
    print(main().program)
