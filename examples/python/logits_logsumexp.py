"""log(sum of exp(logits)) of a linear layer, whose logits are in no memory: a loop over the vocabulary around the loop of the product."""
import math

import numpy

from inlay.codegen import Atom, MmaTiling, Program, exp, log, max, rows_tv, without_axis


# [logits]
def logits_logsumexp(target):
    mma = MmaTiling.of(Atom.mma_best(target, "bf16", "bf16", "f32", 16), 4, 1, 64, 64, 64, 8)
    k = Program("logits_logsumexp", target, mma.threads())
    T, V, K = k.size("tokens", most=1 << 20), k.size("vocabulary", most=1 << 20), k.size("k", most=1 << 14, multiple=8)
    Y, X, W = k.output("y", "f32", [T, 1]), k.input("x", "bf16", [T, K]), k.input("w", "bf16", [V, K])
    @k.computes(Y)
    def output(t, _):
        def logit(v): return k.sum(K, lambda i: X[t, i] * W[v, i])
        most = k.fold("max", V, logit)
        return most + log(k.sum(V, lambda v: exp(logit(v) - most)))

    bt = k.workgroups(0, T, 64)
    rows, of_row = rows_tv(64, 64, 8, mma.threads()), without_axis(mma.c(), 1)
    x = k.conflict_free_tile("lds_x", "bf16", 64, 64, 8, rows, mma.a())
    w = k.conflict_free_tile("lds_w", "bf16", 64, 64, 8, rows, mma.b())
    most, total = k.full(-math.inf, of_row, [64, 1]), k.zeros("f32", of_row, [64, 1])
    @k.loop(V, 64, distance=0, ring=1)
    def part(v):
        acc = k.zeros("f32", mma.c(), [64, 64])
        @k.loop(K, 64, distance=2, ring=2)
        def trip(t):
            k.copy(k.tile(X, [64, 64], [bt, t]), x, rows, 8)
            k.copy(k.tile(W, [64, 64], [v, t]), w, rows, 8)
            k.mma(acc, k.read(x, mma.a(), 8), k.read(w, mma.b(), 8), mma)
        logits = k.fill(acc, 1, 64 * v, V, -math.inf)
        grown = k.map([most, k.fold("max", logits, 1)], max)
        p = k.map([logits, grown], lambda l, m: exp(l - m))
        k.update(total, [most, grown, k.fold("sum", p, 1)], lambda sum, m, g, more: sum * exp(m - g) + more)
        k.update(most, [grown], lambda _, g: g)
    k.store(k.map([most, total], lambda m, sum: m + log(sum)), k.tile(Y, [64, 1], [bt, 0]), 1)
    return k
# [logits end]


def bf16(x): return (x.astype(numpy.float32).view(numpy.uint32) >> 16).astype(numpy.uint16)
def wide(x): return (x.astype(numpy.uint32) << 16).view(numpy.float32).astype(float)


def main(target="gfx950"):
    artifact = logits_logsumexp(target).build()
    random, tokens, vocabulary, depth = numpy.random.default_rng(1), 70, 261, 200
    x, w = bf16(random.uniform(-1, 1, (tokens, depth))), bf16(random.uniform(-1, 1, (vocabulary, depth)))
    y = numpy.zeros((tokens, 1), numpy.float32)
    artifact.run(y, x, w, tokens=tokens, vocabulary=vocabulary, k=depth, check="all")
    numpy.testing.assert_allclose(y[:, 0], numpy.log(numpy.exp(wide(x) @ wide(w).T).sum(1)), atol=2e-3)
    return artifact


if __name__ == "__main__":
    print(main().program)
