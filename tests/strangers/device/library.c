/* What hosted C programs expect of a C library, for one work-item: enough for gcc's torture programs and for csmith's.
   Everything is weak, as programs may bring their own. `exit` ends the wave; how a program ended is in result[0], the last
   number that it printed in result[1]. */
#define WEAK __attribute__((weak, used))
typedef __SIZE_TYPE__ size_t;
enum { running = 1, returned = 2, failed = 3, aborted = 4 };

static unsigned *result;
static char pool[1 << 18] __attribute__((aligned(16)));
static size_t taken;

WEAK void inlay_begin(unsigned *to) { result = to; to[0] = running; to[1] = 0; }
WEAK __attribute__((noreturn)) void inlay_end(int status) {
  result[0] = status == 0 ? returned : failed;
  __builtin_amdgcn_endpgm();
}
WEAK __attribute__((noreturn)) void exit(int status) { inlay_end(status); }
WEAK __attribute__((noreturn)) void _exit(int status) { inlay_end(status); }
WEAK __attribute__((noreturn)) void abort(void) {
  result[0] = aborted;
  __builtin_amdgcn_endpgm();
}

WEAK void *memcpy(void *to, const void *from, size_t n) {
  for (size_t i = 0; i < n; ++i) ((char *)to)[i] = ((const char *)from)[i];
  return to;
}
WEAK void *memmove(void *to, const void *from, size_t n) {
  if ((char *)to <= (const char *)from) return memcpy(to, from, n);
  while (n-- > 0) ((char *)to)[n] = ((const char *)from)[n];
  return to;
}
WEAK void *mempcpy(void *to, const void *from, size_t n) { return (char *)memcpy(to, from, n) + n; }
WEAK void *memset(void *to, int value, size_t n) {
  for (size_t i = 0; i < n; ++i) ((char *)to)[i] = (char)value;
  return to;
}
WEAK int memcmp(const void *a, const void *b, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    int d = ((const unsigned char *)a)[i] - ((const unsigned char *)b)[i];
    if (d != 0) return d;
  }
  return 0;
}
WEAK void *memchr(const void *a, int c, size_t n) {
  for (size_t i = 0; i < n; ++i)
    if (((const unsigned char *)a)[i] == (unsigned char)c) return (char *)a + i;
  return 0;
}
WEAK size_t strlen(const char *s) {
  size_t n = 0;
  while (s[n] != 0) ++n;
  return n;
}
WEAK int strncmp(const char *a, const char *b, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    int d = (unsigned char)a[i] - (unsigned char)b[i];
    if (d != 0 || a[i] == 0) return d;
  }
  return 0;
}
WEAK int strcmp(const char *a, const char *b) { return strncmp(a, b, ~(size_t)0); }
WEAK char *strcpy(char *to, const char *from) { return memcpy(to, from, strlen(from) + 1); }
WEAK char *stpcpy(char *to, const char *from) { return strcpy(to, from) + strlen(from); }
WEAK char *strncpy(char *to, const char *from, size_t n) {
  size_t i = 0;
  for (; i < n && from[i] != 0; ++i) to[i] = from[i];
  for (; i < n; ++i) to[i] = 0;
  return to;
}
WEAK char *strcat(char *to, const char *from) {
  strcpy(to + strlen(to), from);
  return to;
}
WEAK char *strchr(const char *s, int c) {
  for (;; ++s) {
    if (*s == (char)c) return (char *)s;
    if (*s == 0) return 0;
  }
}
WEAK char *strrchr(const char *s, int c) {
  char *last = 0;
  for (;; ++s) {
    if (*s == (char)c) last = (char *)s;
    if (*s == 0) return last;
  }
}
WEAK int abs(int x) { return x < 0 ? -x : x; }
WEAK long labs(long x) { return x < 0 ? -x : x; }

WEAK void *malloc(size_t n) {
  n = (n + 15) & ~(size_t)15;
  if (n > sizeof pool - taken) return 0;
  taken += n;
  return pool + taken - n;
}
WEAK void *calloc(size_t n, size_t m) { return malloc(n * m); } /* the pool is zeros, and nothing is given twice */
WEAK void free(void *p) { (void)p; }

WEAK int printf(const char *format, ...) {
  if (strchr(format, '%') != 0) {
    __builtin_va_list list;
    __builtin_va_start(list, format);
    result[1] = __builtin_va_arg(list, unsigned);
    __builtin_va_end(list);
  }
  return (int)strlen(format);
}
WEAK int puts(const char *s) { return (int)strlen(s); }
WEAK int putchar(int c) { return c; }
