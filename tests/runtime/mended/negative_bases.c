// Arrays whose index register is negative or far beyond and whose constant brings it back: LDS, private memory, both by generic
// pointers, global memory and constant tables, elements of 1 to 16 bytes, atomics. Compiled for the host, -DHOST prints the words.
// run --block 1 --arg out:2048
// out 1c23 4b7f 1f5d 73d78eed d2 364ab2 232a 4c19 9b23 a22de69a d7 381766 2a31 4cb3 e1e5 d083ddbb dc 39e41b 54321 706 4bf2d a98d9bdb 38f67 12259c 1413 1211 73d7ae4a 5 3f7a7 1d
// clang -O0 -O1 -O2 -O3
typedef int int4_ __attribute__((ext_vector_type(4)));
#ifdef HOST
#include <stdio.h>
#define LDS static
#define GENERIC(p) (p)
#else
#define LDS static __attribute__((loader_uninitialized, address_space(3)))
#define GENERIC(p) ((volatile unsigned *)(p))
#endif
LDS unsigned char bytes[512];
LDS unsigned short halves[512];
LDS unsigned words[512];
LDS unsigned long long longs[512] __attribute__((aligned(16)));
LDS int4_ quads[64];
static const unsigned table[64] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4, 6, 2, 6, 4, 3, 3, 8, 3, 2, 7, 9, 5, 0, 2, 8, 8, 4, 1, 9, 7, 1, 6, 9, 3, 9, 9, 3, 7, 5, 1, 0, 5, 8, 2, 0, 9, 7, 4, 9, 4, 4, 5, 9, 2};

__attribute__((noinline)) static int hidden(int x) {
  volatile int kept = x;
  return kept;
}
__attribute__((noinline)) static unsigned far(volatile unsigned *p, int i) { return p[i + 300] * 3 + p[i + 251]; }
__attribute__((noinline)) static void put(volatile unsigned *p, int i, unsigned v) {
  p[i + 200] = v;
  p[i + 160] = v + 1;
}

#ifdef HOST
static void test(unsigned *out) {
#else
__attribute__((amdgpu_kernel)) void test(unsigned *out) {
#endif
  volatile unsigned own[512];
  volatile unsigned char own_bytes[64];
  volatile unsigned long long own_longs[64];
  const int minus = hidden(-250), much = hidden(0x7fffff00), one = hidden(1);
  unsigned n = 0;
  for (int i = 0; i < 512; ++i) {
    bytes[i] = i * 7 * one;
    halves[i] = i * 77 * one;
    words[i] = i * 7777 * one;
    longs[i] = i * 777777777777ull * one;
    own[i] = i * 99 * one;
  }
  for (int i = 0; i < 64; ++i) {
    quads[i] = (int4_){i * one, i * 2, i * 3, i * 4};
    own_bytes[i] = i * 5;
    own_longs[i] = i * 123456789123ull;
  }
  for (int i = minus; i < minus + 3; ++i) { // the register is negative, the constant brings it back
    out[n++] = bytes[i + 255] + bytes[i + 510] * 256;
    out[n++] = halves[i + 251] + halves[i + 500];
    out[n++] = words[i + 251] ^ words[i + 252] ^ words[i + 507] ^ words[i + 505]; // pairs: ds_read2
    out[n++] = (unsigned)(longs[i + 252] + longs[i + 253]) ^ (unsigned)(longs[i + 500] >> 32);
    out[n++] = quads[i + 260].x + quads[i + 300].w;
    out[n++] = own[i + 251] + own[i + 510] + own_bytes[i + 270] + (unsigned)(own_longs[i + 280] >> 20);
  }
  words[minus + 256] = 1;
  words[minus + 257] = 2;
  longs[minus + 300] = 3;
  bytes[minus + 260] = 4;
  halves[minus + 261] = 5;
  own[minus + 262] = 6;
  own_longs[minus + 263] = 7;
  out[n++] = words[6] + words[7] * 16 + (unsigned)longs[50] * 256 + bytes[10] * 4096 + halves[11] * 65536;
  out[n++] = own[12] + (unsigned)own_longs[13] * 256;
  out[n++] = __atomic_fetch_add(&words[minus + 270], 5, __ATOMIC_RELAXED) + words[20];
  out[n++] = (unsigned)__atomic_fetch_xor(&longs[minus + 270], 0xffffffffffull, __ATOMIC_RELAXED) + (unsigned)(longs[20] >> 8);
  out[n++] = __atomic_exchange_n(&words[minus + 280], 9u, __ATOMIC_RELAXED) + words[30];
  // Generic pointers, whose 64-bit sums pass below the array.
  out[n++] = far(GENERIC(words), minus) + far(own, minus);
  put(GENERIC(words), minus + 100, 17);
  put(own, minus + 100, 18);
  put(out + 300, minus + 100, 19);
  out[n++] = out[350] + out[310] * 256;
  out[n++] = words[50] + own[50] * 256;
  // Global memory and tables.
  volatile unsigned *high = out + 1000;
  out[n++] = high[-1000 + 2] + high[minus - 750 + 3];
  out[n++] = table[minus + 260] + table[minus + 300] * 16;
  out[n++] = words[much - 0x7fffff00 + 33] + own[much - 0x7fffff00 + 34];
  out[n++] = n;
#ifdef HOST
  for (unsigned i = 0; i < n; ++i) printf("%x ", out[i]);
  printf("\n");
#endif
}
#ifdef HOST
static unsigned memory[2048];
int main() { test(memory + 512); }
#endif
