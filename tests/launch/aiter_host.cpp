// Launches an exported gemm as AITER's AiterAsmKernel does: hipModuleLoad of the .co, and all arguments as one structure. C = A B^T of small
// integers, which are exact. Usage: host FILE.co KERNEL
#include "gemm.h"

#include <cstdint>
#include <cstdio>
#include <vector>

extern "C" { // of libamdhip64
int hipModuleLoad(void** module, const char* file);
int hipModuleGetFunction(void** function, void* module, const char* name);
int hipMalloc(void** at, std::size_t bytes);
int hipMemcpy(void* to, const void* from, std::size_t bytes, int kind);
int hipModuleLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                          unsigned bz, unsigned lds, void* stream, void** arguments, void** extra);
int hipDeviceSynchronize();
}

static_assert(gemm::takes(200, 120, 64) && !gemm::takes(0, 120, 64));

int main(int, char** words) {
  constexpr int m = 200, n = 120, k = 64;
  std::vector<_Float16> a(m * k), b(n * k), c(m * n);
  for (int i = 0; i < m * k; ++i) a[i] = static_cast<_Float16>(i % 5 - 2);
  for (int i = 0; i < n * k; ++i) b[i] = static_cast<_Float16>(i % 7 - 3);
  void *module, *function, *at[3];
  if (hipModuleLoad(&module, words[1]) != 0 || hipModuleGetFunction(&function, module, words[2]) != 0)
    return 2;
  const std::size_t bytes[] = {2 * c.size(), 2 * a.size(), 2 * b.size()};
  for (int i = 0; i < 3; ++i)
    if (hipMalloc(&at[i], bytes[i]) != 0) return 3;
  hipMemcpy(at[1], a.data(), bytes[1], 1);
  hipMemcpy(at[2], b.data(), bytes[2], 1);
  gemm::Args args{at[0], at[1], at[2], m, n, k};
  std::size_t size = sizeof args;
  const auto g = gemm::grid(m, n, k);
  void* extra[] = {reinterpret_cast<void*>(1), &args, reinterpret_cast<void*>(2), &size,
                   reinterpret_cast<void*>(3)};
  if (hipModuleLaunchKernel(function, g[0], g[1], g[2], gemm::block[0], gemm::block[1], gemm::block[2],
                            gemm::dynamic_lds, nullptr, nullptr, extra) != 0 ||
      hipDeviceSynchronize() != 0)
    return 4;
  hipMemcpy(c.data(), at[0], bytes[0], 2);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int x = 0; x < k; ++x) sum += static_cast<float>(a[i * k + x]) * static_cast<float>(b[j * k + x]);
      if (static_cast<float>(c[i * n + j]) != sum) {
        std::printf("C[%d,%d] is %g, not %g\n", i, j, static_cast<double>(c[i * n + j]),
                    static_cast<double>(sum));
        return 1;
      }
    }
  std::printf("right\n");
  return 0;
}
