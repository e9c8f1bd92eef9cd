#!/usr/bin/env python3
"""Random C kernels: clang compiles them for gfx942, gfx950 and gfx90a, the emulator runs them, and the host's compiler says what is right.

    strangers.py INLAY [--count 200] [--first 1] [--all] [--keep FOLDER] [--jobs 2]

A program is a sequence of phases that every work-item executes by itself (integers of 8 to 128 bits, f16, f32, f64, packed
types, loops, switches, private arrays, calls, recursion) with exchanges between them (ballot, readlane, DPP, permutes, LDS with
barriers, atomics). For the processor the phases are functions that a kernel calls and the exchanges are instructions; for
the host they are loops over the work-items and a few lines written from the instruction's definition. Both are one C file. Every
state variable of every work-item is compared bit for bit (NaN as NaN, and the zeros of f16 as one, whose sign clang 22 does not keep), and all sanitizers must be silent, notes about wait
states included; one program in four also runs under --stress. Seed n is compiled for one processor and optimisation level, which
rotate with n; --all compiles it for all twelve.

Without clang-22 nothing can be compiled: the script says so and exits with 77, which ctest counts as skipped.
"""
import argparse, json, os, random, shutil, subprocess, sys, tempfile
from concurrent.futures import ThreadPoolExecutor

INTEGERS = {'u8': 8, 'i8': 8, 'u16': 16, 'i16': 16, 'u32': 32, 'i32': 32, 'u64': 64, 'i64': 64, 'u128': 128, 'i128': 128}
FLOATS = {'f16': 16, 'f32': 32, 'f64': 64}
PACKED = {'s2': 'i16', 'h2': 'f16', 'i4': 'i32', 'c4': 'u8'}
SCALARS = list(INTEGERS) + list(FLOATS)

PRELUDE = r'''
typedef unsigned char u8; typedef signed char i8; typedef unsigned short u16; typedef short i16; typedef unsigned u32; typedef int i32;
typedef unsigned long u64; typedef long i64; typedef unsigned __int128 u128; typedef __int128 i128;
typedef _Float16 f16; typedef float f32; typedef double f64;
typedef i16 s2 __attribute__((vector_size(4))); typedef f16 h2 __attribute__((vector_size(4)));
typedef i32 i4 __attribute__((vector_size(16))); typedef u8 c4 __attribute__((vector_size(4)));
#define OWN static __attribute__((noinline))
#define SDIV(T, a, b) ((b) == 0 || (b) == (T)-1 ? (a) : (T)((a) / (b)))
#define SREM(T, a, b) ((b) == 0 || (b) == (T)-1 ? (T)0 : (T)((a) % (b)))
#define UDIV(T, a, b) ((b) == 0 ? (a) : (T)((a) / (b)))
#define UREM(T, a, b) ((b) == 0 ? (a) : (T)((a) % (b)))
static inline u64 bits_f64(f64 x) { u64 b; __builtin_memcpy(&b, &x, 8); return x != x ? 0x7ff8000000000000UL : b; }
static inline u64 bits_f32(f32 x) { u32 b; __builtin_memcpy(&b, &x, 4); return x != x ? 0x7fc00000U : b; }
static inline u64 bits_f16(f16 x) { u16 b; __builtin_memcpy(&b, &x, 2); return x != x ? 0x7e00U : x == 0 ? 0 : b; }
static inline f64 to_f64(u64 b) { f64 x; __builtin_memcpy(&x, &b, 8); return x; }
static inline f32 to_f32(u32 b) { f32 x; __builtin_memcpy(&x, &b, 4); return x; }
static inline f16 to_f16(u16 b) { f16 x; __builtin_memcpy(&x, &b, 2); return x; }
static inline i64 int_of(f64 x) { return x > -9e18 && x < 9e18 ? (i64)x : 7; }
static inline i32 int_of_f32(f32 x) { return x > -2e9f && x < 2e9f ? (i32)x : 9; }
static inline i16 int_of_f16(f16 x) { return x > (f16)-30000 && x < (f16)30000 ? (i16)x : 5; }
'''


class Program:
    """C text of one kernel, from a seed."""

    def __init__(self, seed, number, undefined=False):
        self.r = random.Random(seed)
        self.undefined = undefined
        self.k = 'k%d' % number
        self.text = []
        self.functions = []  # name, parameter types, result type
        self.items = self.r.choice([64, 64, 128, 256, 100, 192])
        self.state = [(self.r.choice(SCALARS + list(PACKED)), 'x%d' % i) for i in range(self.r.randint(5, 9))]
        self.state += [('u32', 'w%d' % i) for i in range(3)] + [('u64', 'm0')]
        self.depth = 0
        self.names = 0

    def name(self, prefix):
        self.names += 1
        return '%s%d' % (prefix, self.names)

    def constant(self, t):
        r = self.r
        if t in INTEGERS:
            n = INTEGERS[t]
            v = r.choice([0, 1, 2, 3, 7, 255, (1 << n) - 1, 1 << (n - 1), (1 << (n - 1)) - 1, r.getrandbits(n), r.getrandbits(5),
                          r.getrandbits(16)]) & ((1 << n) - 1)
            if n == 128:
                # Halves with all bits set make clang 22 forget an `or`: x | -1 becomes x.
                v &= ~(1 << 60 | 1 << 127)
                return '((%s)((u128)%dUL << 64 | %dUL))' % (t, v >> 64, v & (1 << 64) - 1)
            return '((%s)%dUL)' % (t, v)
        if t in FLOATS:
            n = FLOATS[t]
            # No zeros: clang 22 makes (0 - x) - y of half precision (-x) - y, which is -0 where the first is +0.
            special = {'f16': ['0x3c00', '0xbc00', '0x7c00', '0x0001', '0x7bff', '0x03ff', '0x4248'],
                       'f32': ['0x3f800000', '0xff800000', '1', '0x7f7fffff', '0x00800000', '0x40490fdb'],
                       'f64': ['0x3ff0000000000000UL', '0x7ff0000000000000UL', '1UL',
                               '0x10000000000000UL', '0x400921fb54442d18UL']}[t]
            if r.random() < 0.4:
                return 'to_%s(%s)' % (t, r.choice(special))
            return '((%s)%s)' % (t, r.choice(['%d' % r.randint(1, 9), '-%d' % r.randint(1, 9), '%.3f' % r.uniform(-100, 100), '0.5', '1.5']))
        # No element with all bits set: clang 22 forgets the or of {..., -1} in (x | {..., -1}) | y.
        element = PACKED[t]
        values = [self.constant(element) for _ in range(self.lanes(t))]
        if element in INTEGERS:
            values = ['(%s)%d' % (element, self.r.getrandbits(INTEGERS[element] - 1)) if '%d' % ((1 << INTEGERS[element]) - 1) in v else v
                      for v in values]
        return '((%s){%s})' % (t, ', '.join(values))

    def lanes(self, t):
        return {'s2': 2, 'h2': 2, 'i4': 4, 'c4': 4}[t]

    def leaf(self, t, scope):
        same = [v for u, v in scope if u == t]
        if same and self.r.random() < 0.8:
            return self.r.choice(same)
        return self.constant(t)

    def cast(self, u, t, e):
        """`e` of type u as type t, with nothing undefined."""
        if u == t:
            return e
        if u in FLOATS and t in INTEGERS:
            return '((%s)%s(%s))' % (t, {'f16': 'int_of_f16', 'f32': 'int_of_f32', 'f64': 'int_of'}[u], e)
        if u in INTEGERS and INTEGERS[u] == 128 and t in FLOATS:
            return '((%s)(i64)(%s))' % (t, e)
        return '((%s)(%s))' % (t, e)

    def expr(self, t, scope, depth=None):
        r = self.r
        depth = r.randint(1, 4) if depth is None else depth
        if depth == 0 or r.random() < 0.1:
            return self.leaf(t, scope)
        e = lambda u=t, d=depth - 1: self.expr(u, scope, d)
        pick = r.random()
        if pick < 0.08 and t in INTEGERS or pick < 0.08 and t in FLOATS:
            u = r.choice(SCALARS)
            return self.cast(u, t, e(u))
        if pick < 0.14:
            return '(%s ? %s : %s)' % (self.condition(scope, depth - 1), e(), e())
        if pick < 0.2 and self.functions and self.depth == 0:
            f = r.choice(self.functions)
            call = '%s(%s)' % (f[0], ', '.join(self.expr(u, scope, 1) for u in f[1]))
            if f[2] == t:
                return call
            if f[2] in SCALARS and t in SCALARS:
                return self.cast(f[2], t, call)
        if t in INTEGERS:
            return self.integer(t, e, scope, depth)
        if t in FLOATS:
            return self.floating(t, e, scope, depth)
        element = PACKED[t]
        if element in FLOATS:
            return '(%s %s %s)' % (e(), r.choice('+-*'), e())
        kind = r.random()
        bits = INTEGERS[element]
        if kind < 0.3:
            return '(%s %s (%s & %d))' % (e(), r.choice(['<<', '>>']), e(), bits - 1)
        if kind < 0.4:
            return '(~%s)' % e()
        return '(%s %s %s)' % (e(), r.choice(['+', '-', '*', '&', '|', '^']), e())

    def integer(self, t, e, scope, depth):
        r, n = self.r, INTEGERS[t]
        signed = t[0] == 'i'
        kind = r.randint(0, 13)
        if kind <= 5:
            return '((%s)(%s %s %s))' % (t, e(), r.choice(['+', '-', '*', '&', '|', '^']), e())
        if kind == 6:
            return '((%s)(%s %s (%s & %d)))' % (t, e(), r.choice(['<<', '>>']), e('u32'), n - 1)
        if kind == 7:  # clang 22 loses the borrow of -(x | constant) in 128 bits: v_subbrev_co_u32 reads a VCC that nothing wrote
            return '((%s)(%s%s))' % (t, '~' if n == 128 else r.choice('~-'), e())
        if kind == 8 and depth <= 2:
            a, b = e(), e()
            name = self.name('d')
            self.pending.append('%s %sa = %s, %sb = %s;' % (t, name, a, name, b))
            return '%s%s(%s, %sa, %sb)' % ('S' if signed else 'U', r.choice(['DIV', 'REM']), t, name, name)
        if kind == 9 and n >= 32 and n <= 64:
            long = 'l' if n == 64 else ''
            b = r.choice(['popcount', 'clz', 'ctz', 'bswap'])
            u = 'u%d' % n
            if b == 'bswap':
                return '((%s)__builtin_bswap%d((%s)%s))' % (t, n, u, e())
            one = {'popcount': '', 'clz': '|1', 'ctz': '| ((%s)1 << %d)' % (u, n - 1)}[b]
            return '((%s)__builtin_%s%s(((%s)%s)%s))' % (t, b, long, u, e(), one)
        if kind == 10 and n <= 64:  # upper half of a product
            wide = {8: '16', 16: '32', 32: '64', 64: '128'}[n]
            w = ('i' if signed else 'u') + wide
            return '((%s)((%s)%s * (%s)%s >> %d))' % (t, w, e(), w, e(), n)
        if kind == 11:
            s = r.randint(1, n - 1)
            u = 'u%d' % n
            v = self.leaf(t, scope)
            return '((%s)((%s)%s << %d | (%s)%s >> %d))' % (t, u, v, s, u, v, n - s)
        if kind == 12:
            a, b = self.leaf(t, scope), self.leaf(t, scope)
            return '(%s %s %s ? %s : %s)' % (a, r.choice('<>'), b, a, b)
        return '((%s)(%s))' % (t, self.condition(scope, depth - 1))

    def floating(self, t, e, scope, depth):
        r = self.r
        kind = r.randint(0, 9)
        suffix = {'f16': 'f', 'f32': 'f', 'f64': ''}[t]
        if kind <= 4:
            return '(%s %s %s)' % (e(), r.choice('+-*'), e())
        if kind == 5 and t != 'f16':
            return '(%s / %s)' % (e(), e())
        if kind == 6 and t != 'f16':
            return '__builtin_fma%s(%s, %s, %s)' % (suffix, e(), e(), e())
        if kind == 7:
            f = r.choice(['floor', 'ceil', 'trunc', 'fabs', 'rint'])
            return '((%s)__builtin_%s%s(%s))' % (t, f, suffix, e())
        if kind == 8 and t != 'f16':
            return '__builtin_sqrt%s(__builtin_fabs%s(%s))' % (suffix, suffix, e())
        if kind == 9:
            return '(-%s)' % e()
        # clang 22 makes `x > -0.0 ? x : -0.0` a maximum, for which +0 is above -0: no constants that are zero here
        a, b = [v if v.startswith('s->') or v.startswith('p') else '((%s)2.5)' % t for v in (self.leaf(t, scope), self.leaf(t, scope))]
        return '(%s %s %s ? %s : %s)' % (a, r.choice('<>'), b, a, b)

    def condition(self, scope, depth):
        r = self.r
        t = r.choice([u for u, _ in scope if u in SCALARS] or ['u32'])
        if t in INTEGERS and r.random() < 0.3:
            return '(%s & %s) == 0' % (self.expr(t, scope, max(depth, 0)), self.constant(t))
        return '%s %s %s' % (self.expr(t, scope, max(depth, 0)), r.choice(['<', '<=', '>', '>=', '==', '!=']),
                             self.expr(t, scope, max(depth, 0)))

    def assignment(self, out, scope, indent, targets):
        self.pending = []
        t, v = self.r.choice(targets)
        e = self.expr(t, scope)
        for line in self.pending:
            out.append(indent + line)
        out.append('%s%s = %s;' % (indent, v, e))

    def block(self, out, scope, targets, level, indent, budget):
        r = self.r
        for _ in range(r.randint(1, budget)):
            kind = r.random()
            self.pending = []
            if level >= 3 or kind < 0.55:
                out.append(indent + '{')
                self.assignment(out, scope, indent + '  ', targets)
                out.append(indent + '}')
                continue
            out.append(indent + '{')
            inner = indent + '  '
            c = self.condition(scope, 1) if kind < 0.8 else None
            selector = self.expr('u32', scope, 2)
            trips = self.expr('u32', scope, 1)
            index = self.expr('u32', scope, 1)
            for line in self.pending:
                out.append(inner + line)
            if c is not None:
                out.append(inner + 'if (%s) {' % c)
                self.block(out, scope, targets, level + 1, inner + '  ', 3)
                if r.random() < 0.6:
                    out.append(inner + '} else {')
                    self.block(out, scope, targets, level + 1, inner + '  ', 3)
                out.append(inner + '}')
            elif kind < 0.88:
                i = self.name('turn')
                out.append(inner + 'for (u32 %s = 0, %sn = (%s) & %d; %s < %sn; ++%s) {' % (i, i, trips, r.choice([3, 7]), i, i, i))
                self.block(out, scope + [('u32', i)], targets, level + 1, inner + '  ', 3)
                if r.random() < 0.4:
                    out.append(inner + '  if ((%s + %s) %% 5 == 3) %s;' % (r.choice([v for u, v in scope if u == 'u32']), i,
                                                                       r.choice(['break', 'continue'])))
                out.append(inner + '}')
            elif kind < 0.94:
                out.append(inner + 'switch ((%s) %% 5) {' % selector)
                for case in range(r.randint(2, 4)):
                    out.append(inner + 'case %d:' % case)
                    self.block(out, scope, targets, level + 1, inner + '  ', 2)
                    if r.random() < 0.7:
                        out.append(inner + '  break;')
                out.append(inner + 'default:;')
                out.append(inner + '}')
            else:
                a, t = self.name('a'), r.choice(SCALARS)
                n = r.choice([4, 8, 16])
                out.append(inner + '%s %s[%d];' % (t, a, n))
                out.append(inner + 'for (int j = 0; j < %d; ++j) %s[j] = (%s)(j * %d);' % (n, a, t, r.randint(1, 9)))
                self.pending = []
                value = self.expr(t, scope, 2)
                for line in self.pending:
                    out.append(inner + line)
                out.append(inner + '%s[(%s) & %d] = %s;' % (a, index, n - 1, value))
                self.block(out, scope + [(t, '%s[%s & %d]' % (a, r.choice([v for u, v in scope if u == 'u32']), n - 1))], targets,
                           level + 1, inner, 2)
            out.append(indent + '}')

    def function(self):
        r = self.r
        name = '%s_f%d' % (self.k, len(self.functions))
        parameters = [r.choice(SCALARS + list(PACKED)) for _ in range(r.randint(1, 4))]
        result = r.choice(SCALARS)
        scope = [(t, 'p%d' % i) for i, t in enumerate(parameters)] + [('u32', 'local')]
        if r.random() < 0.2:  # recursion
            out = ['OWN %s %s(%s, u32 left);' % (result, name + 'r', ', '.join('%s p%d' % (t, i) for i, t in enumerate(parameters)))]
            out.append('OWN %s %sr(%s, u32 left) {' % (result, name, ', '.join('%s p%d' % (t, i) for i, t in enumerate(parameters))))
            out.append('  u32 local = left * 3;')
            self.depth = 1
            self.block(out, scope, scope, 2, '  ', 2)
            self.pending = []
            e = self.expr(result, scope, 2)
            out += ['  ' + line for line in self.pending]
            rest = 'left == 0 ? %s : (%s)(%sr(%s, left - 1) + (%s)1)' % (e, result, name, ', '.join(v for _, v in scope[:-1]), result)
            self.depth = 0
            out.append('  return %s;' % rest)
            out.append('}')
            out.append('OWN %s %s(%s) { return %sr(%s, %d); }' % (
                result, name, ', '.join('%s p%d' % (t, i) for i, t in enumerate(parameters)), name,
                ', '.join(v for _, v in scope[:-1]), r.randint(1, 5)))
        else:
            out = ['OWN %s %s(%s) {' % (result, name, ', '.join('%s p%d' % (t, i) for i, t in enumerate(parameters)))]
            out.append('  u32 local = %d;' % r.randint(0, 99))
            self.block(out, scope, scope, 1, '  ', 3)
            self.pending = []
            e = self.expr(result, scope, 2)
            out += ['  ' + line for line in self.pending]
            out.append('  return %s;' % e)
            out.append('}')
        self.text += out
        self.functions.append((name, parameters, result))

    def phase(self, n):
        own = self.r.choice(['OWN', 'OWN', 'static inline'])
        out = ['%s void %s_phase%d(struct %s_state *s, u32 item, const u32 *in) {' % (own, self.k, n, self.k)]
        scope = [(t, 's->' + v) for t, v in self.state] + [('u32', 'item'), ('u32', 'in[(item + %d) & 255]' % n)]
        targets = scope[:len(self.state)]
        self.block(out, scope, targets, 0, '  ', 5)
        out.append('}')
        self.text += out

    def exchange(self):
        """(device text, host text): host has arrays S[item], ITEMS items, `begin` and `end` of each wave."""
        r = self.r
        a, b = r.choice(['w0', 'w1', 'w2']), r.choice(['w0', 'w1', 'w2'])
        condition = r.choice(['1', '1', '(s.w0 & 3) != 1', 's.w1 > s.w2', 'item % 5 < 3'])
        kind = r.choice(['ballot', 'first', 'lane', 'bpermute', 'permute', 'swizzle', 'dpp', 'mbcnt', 'lds', 'lds64', 'add', 'minmax', 'swap',
                         'lds16', 'global'])
        if kind in ('bpermute', 'swizzle'):  # what an inactive lane gives is not defined: clang makes a uniform value of a permuted one
            condition = '1'
            if self.items % 64 != 0:
                kind = 'dpp'
        host_c = condition.replace('s.', 'S[item].')
        wave = '    for (u32 begin = 0; begin < ITEMS; begin += 64) { u32 end = begin + 64 < ITEMS ? begin + 64 : ITEMS; (void)end;\n'
        mask = '      u64 on = 0; for (u32 item = begin; item < end; ++item) if (%s) on |= 1UL << (item - begin);\n' % host_c
        value = '      u32 v[64] = {0}; for (u32 item = begin; item < end; ++item) v[item - begin] = S[item].%s;\n' % a
        every = '      for (u32 item = begin; item < end; ++item) if (on >> (item - begin) & 1) { u32 l = item - begin; (void)l; %s }\n    }\n'
        if kind == 'ballot':
            c = r.choice(['s.w0 > s.w1', '(s.w2 & 5) == 4', 's.w1 & 1'])
            count = '      u64 yes = 0; for (u32 item = begin; item < end; ++item) if ((on >> (item - begin) & 1) && (%s)) yes |= 1UL << (item - begin);\n' % c.replace('s.', 'S[item].')
            return ('if (%s) s.m0 ^= __builtin_amdgcn_ballot_w64(%s);' % (condition, c), wave + mask + count + every % 'S[item].m0 ^= yes;')
        if kind == 'first':
            return ('if (%s) s.%s = __builtin_amdgcn_readfirstlane(s.%s) + 1;' % (condition, b, a),
                    wave + mask + value + every % ('S[item].%s = v[__builtin_ctzl(on)] + 1;' % b))
        if kind == 'lane':
            lane = r.randint(0, 35)
            return ('s.%s = __builtin_amdgcn_readlane(s.%s, %d);' % (b, a, lane),
                    wave + mask.replace(host_c, '1') + value + every % ('S[item].%s = v[%d];' % (b, lane)))
        if kind in ('bpermute', 'permute'):
            step = r.choice([1, 5, 17, 63])
            if kind == 'bpermute':
                return ('if (%s) s.%s = __builtin_amdgcn_ds_bpermute((s.w2 + item * %d) << 2, s.%s);' % (condition, b, step, a),
                        wave + mask + value + '      u32 to[64]; for (u32 item = begin; item < end; ++item) to[item - begin] = (S[item].w2 + item * %d) & 63;\n' % step +
                        every % ('S[item].%s = (on >> to[l] & 1) ? v[to[l]] : 0;' % b))
            return ('if (%s) s.%s = __builtin_amdgcn_ds_permute((s.w2 + item * %d) << 2, s.%s);' % (condition, b, step, a),
                    wave + mask + value + '      u32 got[64] = {0}; for (u32 item = begin; item < end; ++item) if (on >> (item - begin) & 1) got[(S[item].w2 + item * %d) & 63] = v[item - begin];\n' % step +
                    every % ('S[item].%s = got[l];' % b))
        if kind == 'swizzle':
            and_mask, or_mask, xor_mask = r.choice([(31, 0, r.randint(1, 31)), (r.randint(0, 31), r.randint(0, 31), 0)])
            pattern = and_mask | or_mask << 5 | xor_mask << 10
            return ('if (%s) s.%s = __builtin_amdgcn_ds_swizzle(s.%s, %d);' % (condition, b, a, pattern),
                    wave + mask + value + every % ('u32 from = (l & 32) | ((((l & 31) & %d) | %d) ^ %d); S[item].%s = (on >> from & 1) ? v[from] : 0;' % (and_mask, or_mask, xor_mask, b)))
        if kind == 'dpp':
            which = r.choice(['quad', 'shl', 'shr', 'ror', 'mirror', 'half'])
            n = r.randint(1, 15)
            control, source = {
                'quad': (0x1b, '(l & ~3u) | (3 - (l & 3))'),
                'shl': (0x100 + n, '(l & 15) + %d < 16 ? (int)l + %d : -1' % (n, n)),
                'shr': (0x110 + n, '(l & 15) >= %d ? (int)l - %d : -1' % (n, n)),
                'ror': (0x120 + n, '(l & ~15u) | ((l - %d) & 15)' % n),
                'mirror': (0x140, '(l & ~15u) | (15 - (l & 15))'),
                'half': (0x141, '(l & ~7u) | (7 - (l & 7))')}[which]
            bound = r.choice(['0', '1'])
            rows, banks = r.choice([(15, 15), (5, 15), (15, 6)])
            return ('if (%s) s.%s = __builtin_amdgcn_update_dpp(s.w0 + 7, s.%s, %d, %d, %d, %s);' % (condition, b, a, control, rows, banks, bound),
                    wave + mask + value + every % (
                        'int from = %s; u32 old = S[item].w0 + 7; int written = (%d >> (l / 16) & 1) && (%d >> (l / 4 %% 4) & 1); '
                        'S[item].%s = !written ? old : from >= 0 && (on >> from & 1) ? v[from] : %s;' % (source, rows, banks, b, '0' if bound == '1' else 'old')))
        if kind == 'mbcnt':
            return ('s.%s += __builtin_amdgcn_mbcnt_hi((u32)(s.m0 >> 32), __builtin_amdgcn_mbcnt_lo((u32)s.m0, 3));' % b,
                    wave + mask.replace(host_c, '1') + every % ('S[item].%s += 3 + (u32)__builtin_popcountl(S[item].m0 & ((1UL << l) - 1));' % b))
        step = r.choice([1, 3, 7, 33])
        if kind in ('lds', 'lds64', 'lds16'):
            t, v = {'lds': ('u32', a), 'lds64': ('u64', 'm0'), 'lds16': ('u16', a)}[kind]
            array = '%s_%s' % (self.k, kind)
            self.shared.add((t, array))
            return ('%s[item] = (%s)s.%s; BARRIER; s.%s += (%s)%s[(item * %d + 11) %% ITEMS]; BARRIER;' % (array, t, v, v, t, array, step),
                    '    { static %s copy[ITEMS]; for (u32 item = 0; item < ITEMS; ++item) copy[item] = (%s)S[item].%s;\n'
                    '      for (u32 item = 0; item < ITEMS; ++item) S[item].%s += copy[(item * %d + 11) %% ITEMS]; }\n' % (t, t, v, v, step))
        if kind in ('add', 'minmax'):
            array = '%s_sums' % self.k
            self.shared.add(('u32', array))
            f = {'add': r.choice(['add', 'or', 'xor', 'and']), 'minmax': r.choice(['max', 'min'])}[kind]
            start = '0xffffffff' if f in ('and', 'min') else '0'
            host = {'add': 'sum[at] += x;', 'or': 'sum[at] |= x;', 'xor': 'sum[at] ^= x;', 'and': 'sum[at] &= x;',
                    'max': 'if (x > sum[at]) sum[at] = x;', 'min': 'if (x < sum[at]) sum[at] = x;'}[f]
            return ('%s[item] = %s; BARRIER; if (%s) __scoped_atomic_fetch_%s(&%s[s.w2 %% 8], s.%s, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP); '
                    'BARRIER; s.%s += %s[item %% 8]; BARRIER;' % (array, start, condition, f, array, a, b, array),
                    '    { u32 sum[8]; for (int n = 0; n < 8; ++n) sum[n] = %s;\n'
                    '      for (u32 item = 0; item < ITEMS; ++item) if (%s) { u32 at = S[item].w2 %% 8, x = S[item].%s; %s }\n'
                    '      for (u32 item = 0; item < ITEMS; ++item) S[item].%s += sum[item %% 8]; }\n' % (start, host_c, a, host, b))
        if kind == 'global':
            return ('__scoped_atomic_fetch_add(&sums[s.w1 % 8], s.{0}, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);'.format(a),
                    '    for (u32 item = 0; item < ITEMS; ++item) sums[S[item].w1 %% 8] += S[item].%s;\n' % a)
        # swap: the odd half of one register with the even half of the other, gfx950
        return ('''
#if defined(__gfx950__)
  { __attribute__((ext_vector_type(2))) u32 both = __builtin_amdgcn_permlane32_swap(s.w0, s.w1, 0, 0); s.w0 = both.x; s.w1 = both.y; }
#else
  { u32 x = __builtin_amdgcn_ds_bpermute((item ^ 32) << 2, s.w0), y = __builtin_amdgcn_ds_bpermute((item ^ 32) << 2, s.w1); if (item & 32) s.w0 = y; else s.w1 = x; }
#endif
''', '''    for (u32 item = 0; item < ITEMS; ++item) if ((item & 32) == 0) { u32 x = item + 32 < ITEMS ? S[item + 32].w0 : 0; if (item + 32 < ITEMS) S[item + 32].w0 = S[item].w1; S[item].w1 = x; }
''' if self.items % 64 == 0 else None)

    def generate(self):
        r, k = self.r, self.k
        self.shared = set()
        self.text.append('struct %s_state { %s };' % (k, ' '.join('%s %s;' % v for v in self.state)))
        for _ in range(r.randint(0, 3)):
            self.function()
        phases = r.randint(1, 4)
        device, host = [], []
        for n in range(phases):
            self.phase(n)
            device.append('  %s_phase%d(&s, item, in);' % (k, n))
            host.append('    for (u32 item = 0; item < ITEMS; ++item) %s_phase%d(&S[item], item, in);\n' % (k, n))
            for _ in range(r.randint(0, 3)):
                d, h = self.exchange()
                if h is None:
                    continue
                device.append('  ' + d)
                host.append(h)
        begin = []
        for i, (t, v) in enumerate(self.state):
            word = 'in[(item * %d + %d) & 255]' % (r.choice([1, 3, 7]), i)
            if t in INTEGERS:
                begin.append('s.%s = (%s)((u128)%s * %s);' % (v, t, word, r.choice(['1', '0x10001', '0x9e3779b97f4a7c15UL'])))
            elif t in FLOATS:
                begin.append('s.%s = (%s)(i32)%s / (%s)%d;' % (v, t, '(%s %% 4001 - 2000)' % word, t, r.choice([1, 7, 64])))
            else:
                begin.append('s.%s = (%s){%s};' % (v, t, ', '.join('(%s)(%s >> %d)' % (PACKED[t], word, 4 * j) if PACKED[t] != 'f16' else
                                                                  '(f16)(i32)(%s %% 99)' % word for j in range(self.lanes(t)))))
        if self.undefined:  # one variable is given no value; the host's program tries several
            n = random.Random(repr(self.state)).randrange(len(self.state) - 4)
            begin[n] = '\n#ifndef __AMDGCN__\n__builtin_memset(&s.%s, FILL, sizeof s.%s);\n#endif\n' % (self.state[n][1], self.state[n][1])
        end = []
        for t, v in self.state:
            if t in FLOATS:
                end.append('bits_%s(s.%s)' % (t, v))
            elif t in INTEGERS and INTEGERS[t] == 128:
                end += ['(u64)s.%s' % v, '(u64)((u128)s.%s >> 64)' % v]
            elif t in INTEGERS:
                end.append('(u64)s.%s' % v)
            else:
                for j in range(self.lanes(t)):
                    end.append('bits_f16(s.%s[%d])' % (v, j) if PACKED[t] == 'f16' else '(u64)s.%s[%d]' % (v, j))
        self.words = len(end)
        start = 'static inline struct %s_state %s_start(u32 item, const u32 *in) { struct %s_state s; %s return s; }' % (k, k, k, ' '.join(begin))
        finish = 'static inline void %s_finish(struct %s_state s, u64 *to) { %s }' % (k, k, ' '.join('to[%d] = %s;' % p for p in enumerate(end)))
        self.text += [start, finish, '#ifdef __AMDGCN__']
        for t, array in sorted(self.shared):
            self.text.append('__attribute__((loader_uninitialized, address_space(3))) static %s %s[%d];' % (t, array, self.items))
        self.text += ['#define ITEMS %d' % self.items,
                      '__attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(1, %d))) void %s(u64 *out, u32 *sums, const u32 *in) {' % (self.items, k),
                      '  u32 item = __builtin_amdgcn_workitem_id_x();', '  struct %s_state s = %s_start(item, in);' % (k, k)]
        self.text += device + ['  %s_finish(s, out + item * %d);' % (k, self.words), '}', '#undef ITEMS', '#else', '#define ITEMS %d' % self.items,
                               'static void %s(u64 *out, u32 *sums, const u32 *in) {' % k, '    static struct %s_state S[ITEMS];' % k,
                               '    for (u32 item = 0; item < ITEMS; ++item) S[item] = %s_start(item, in);' % k]
        self.text += [h.rstrip('\n') for h in host]
        self.text += ['    for (u32 item = 0; item < ITEMS; ++item) %s_finish(S[item], out + item * %d);' % (k, self.words), '}', '#undef ITEMS', '#endif']
        return '\n'.join(self.text)


DEVICE = r'''
#ifdef __AMDGCN__
static inline void barrier(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier(); __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
#define BARRIER barrier()
#else
static int FILL;
#endif
'''


def host_main(programs):
    text = '#ifndef __AMDGCN__\n#include <stdio.h>\nint main(int argc, char **argv) { static u32 in[256]; FILE *f = fopen("in.bin", "rb"); if (fread(in, 4, 256, f) != 256) return 1; fclose(f); FILL = argc > 1 ? argv[1][0] : 0;\n'
    for p in programs:
        text += '  { static u64 out[%d]; static u32 sums[8]; %s(out, sums, in); f = fopen("%s.right", "wb"); fwrite(out, 8, %d, f); fwrite(sums, 4, 8, f); fclose(f); }\n' % (
            p.items * p.words, p.k, p.k, p.items * p.words)
    return text + '  return 0; }\n#endif\n'


LEVELS = [(p, l) for l in ('-O0', '-O1', '-O2', '-O3') for p in ('gfx942', 'gfx950', 'gfx90a')]

# Words of programs that clang 22 compiles wrongly, seed -> word -> where LLVM has fixed it; the argument is in docs/measurements/fuzzing.md. When it optimises, but for
# the sign of a zero: x / (0.0 - y) is lowered to x / -y at every level, which for y = 0 is the other infinity.
SIGN = 'the same IR compiled by LLVM 24 is wrong as well: 0.0 - y in a quotient becomes -y'
LATER = 'the same IR compiled by LLVM 24 is right'
MISCOMPILED = {102677: {11: 'llvm-project pull request 183792'}, 700579: {6: LATER}, 701417: {8: LATER}, 703571: {10: LATER, 11: LATER},
               722675: {10: LATER}, 723030: {0: LATER, 4: LATER}, 730115: {0: SIGN}, 730928: {7: LATER, 8: LATER, 9: LATER},
               734613: {18: LATER}}


def differing(got, right, words):
    """Word of a work-item -> the first place that differs there; what follows the work-items (sums) counts as words too."""
    places = {}
    for i in range(0, len(right), 8):
        if got[i:i + 8] != right[i:i + 8]:
            places.setdefault(i // 8 % words, i // 8)
    return places


def compile_for(options, folder, processor, level):
    return subprocess.run([options.clang, '-target', 'amdgcn-amd-amdhsa', '-nogpulib', '-ffreestanding', '-std=gnu17', '-w', '-fwrapv',
                           '-ffp-contract=off', '-Xclang', '-target-feature', '-Xclang', '-dot7-insts', '-mcpu=' + processor, level, 'p.c', '-o', 'p.hsaco'],
                          cwd=folder, stderr=subprocess.PIPE, universal_newlines=True)


def execute(options, folder, p, more=()):
    command = [options.inlay, 'exec', 'p.hsaco', '--kernel', p.k, '--block', str(p.items), '--json', '--arg',
               'out:%d:out.bin' % (p.items * p.words * 8), '--arg', 'inout:zero.bin:sums.bin', '--arg', 'in:in.bin']
    r = subprocess.run(command + list(more), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    try:
        return json.loads(r.stdout)
    except ValueError:
        return {'error': 'no answer: ' + (r.stderr or r.stdout)[:500]}


def run_undefined(options, seeds, programs, folder):
    """A variable without a value: when the host's outputs depend on what it holds, uninit must speak."""
    wrong, ran = [], 0
    outputs = {}
    for fill in '\x01\x55\x2a\x7f':
        subprocess.run(['./host', fill], cwd=folder, check=True)
        for p in programs:
            outputs.setdefault(p.k, set()).add(open(os.path.join(folder, p.k + '.right'), 'rb').read())
    processor = LEVELS[(seeds[0] // len(seeds)) % 3][0]
    device = compile_for(options, folder, processor, '-O0')  # without optimisation: nothing is decided before it runs
    if device.returncode != 0:
        return ['seed %d: clang refuses: %s' % (seeds[0], device.stderr[:1500])], 0
    for seed, p in zip(seeds, programs):
        answer = execute(options, folder, p, ['--check', 'uninit,bounds'])
        if 'error' in answer:
            wrong.append('seed %d: %s' % (seed, answer['error']))
            continue
        ran += 1
        found = any(f['kind'] == 'uninit' for f in answer['findings'])
        if len(outputs[p.k]) > 1 and not found:
            wrong.append('seed %d %s: an undefined variable reaches the output and uninit is silent' % (seed, processor))
        options.tally[(len(outputs[p.k]) > 1, found)] = options.tally.get((len(outputs[p.k]) > 1, found), 0) + 1
    return wrong, ran


def run_batch(options, seeds, every):
    """Messages about what was wrong, and how many kernels ran."""
    wrong, ran = [], 0
    folder = tempfile.mkdtemp(prefix='strangers-')
    try:
        programs = [Program(seed, i, options.undefined) for i, seed in enumerate(seeds)]
        bodies = [p.generate() for p in programs]
        source = os.path.join(folder, 'p.c')
        with open(source, 'w') as f:
            f.write(PRELUDE + DEVICE + '\n'.join(bodies) + '\n' + host_main(programs))
        words = random.Random(seeds[0])
        with open(os.path.join(folder, 'in.bin'), 'wb') as f:
            for _ in range(256):
                f.write((words.choice([words.getrandbits(32), words.getrandbits(8), 0, 1, 0xffffffff, 0x80000000])).to_bytes(4, 'little'))
        with open(os.path.join(folder, 'zero.bin'), 'wb') as f:
            f.write(bytes(32))
        host = subprocess.run([options.host, '-std=gnu17', '-O1', '-w', '-fwrapv', '-ffp-contract=off'] + options.host_flags + ['p.c', '-o', 'host', '-lm'],
                              cwd=folder, stderr=subprocess.PIPE, universal_newlines=True)
        if host.returncode != 0:
            return ['seed %d: the host compiler refuses: %s' % (seeds[0], host.stderr[:2000])], 0
        subprocess.run(['./host'], cwd=folder, check=True)
        if options.undefined:
            return run_undefined(options, seeds, programs, folder)
        combinations = LEVELS if every else [LEVELS[(seeds[0] // len(seeds)) % len(LEVELS)]]
        for processor, level in combinations:
            device = compile_for(options, folder, processor, level)
            if device.returncode != 0:
                wrong.append('seed %d %s %s: clang refuses: %s' % (seeds[0], processor, level, device.stderr[:1500]))
                continue
            for seed, p in zip(seeds, programs):
                ran += 1
                title = 'seed %d %s %s' % (seed, processor, level)
                answer = execute(options, folder, p, ['--stress'] if seed % 4 == 0 else [])
                if 'error' in answer:
                    wrong.append('%s: %s' % (title, answer['error']))
                    continue
                got = open(os.path.join(folder, 'out.bin'), 'rb').read() + open(os.path.join(folder, 'sums.bin'), 'rb').read()
                right = open(os.path.join(folder, p.k + '.right'), 'rb').read()
                for word, at in differing(got, right, p.words).items():
                    line = '%s: work-item %d, word %d of %d is %s, right is %s' % (
                        title, at // p.words, word, p.words, got[8 * at:8 * at + 8][::-1].hex(), right[8 * at:8 * at + 8][::-1].hex())
                    argued = MISCOMPILED.get(seed, {}).get(word)
                    if level == '-O0' and argued != SIGN:
                        argued = None
                    if argued:
                        print('%s (the compiler: %s)' % (line, argued), flush=True)
                    else:
                        wrong.append(line)
                for finding in answer['findings']:
                    if finding['note'] and finding['kind'] == 'align':
                        continue  # compilers read LDS where it suits them
                    wrong.append('%s: %s: %s at %x %s' % (title, finding['kind'], finding['message'], finding['address'], finding['disassembly']))
                if not answer.get('stress', {'same': True})['same']:
                    wrong.append('%s: stress: %s' % (title, answer['stress']['difference']))
        if wrong and options.keep:
            shutil.copytree(folder, os.path.join(options.keep, str(seeds[0])), dirs_exist_ok=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return wrong, ran


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('inlay')
    parser.add_argument('--count', type=int, default=200)
    parser.add_argument('--first', type=int, default=1)
    parser.add_argument('--batch', type=int, default=8, help='kernels in one file')
    parser.add_argument('--all', action='store_true', help='every program for both processors at -O0 to -O3')
    parser.add_argument('--undefined', action='store_true', help='one variable of each program has no value: uninit must find what depends on it')
    parser.add_argument('--keep', help='where the sources of wrong batches go')
    parser.add_argument('--jobs', type=int, default=2)
    options = parser.parse_args()
    options.inlay = os.path.abspath(options.inlay)
    options.tally = {}
    options.clang = shutil.which('clang-22')
    if options.clang is None:
        print('skipped: clang-22 is not here (Debian package clang-22)')
        return 77
    options.host = shutil.which('gcc') or options.clang
    options.host_flags = ['-fexcess-precision=16'] if options.host.endswith('gcc') else ['-Xclang', '-ffloat16-excess-precision=none']
    seeds = list(range(options.first, options.first + options.count))
    batches = [seeds[i:i + options.batch] for i in range(0, len(seeds), options.batch)]
    total = failures = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for wrong, ran in pool.map(lambda b: run_batch(options, b, options.all), batches):
            total += ran
            failures += len(wrong)
            for line in wrong[:20]:
                print(line, flush=True)
            if total // 500 != (total - ran) // 500:
                print('%d programs so far, %d complaints' % (total, failures), flush=True)
    if options.undefined:
        print('the output depends on the undefined variable: %d found, %d missed; it does not: %d findings, %d silent' % tuple(
            options.tally.get(key, 0) for key in ((True, True), (True, False), (False, True), (False, False))))
    print('%d programs run, %d complaints, seeds %d to %d' % (total, failures, seeds[0], seeds[-1]))
    return 1 if failures or total == 0 else 0


if __name__ == '__main__':
    sys.exit(main())
