/* A stranger's C program: a kernel by its manifest, on the emulator. */
#include <inlay_c.h>
#include <stdio.h>
#include <stdlib.h>

static void need(inlay_status status) {
  if (status == INLAY_OK) return;
  fprintf(stderr, "%s\n", inlay_error());
  exit(1);
}

int main(int argc, char** argv) {
  inlay_package* package = NULL;
  inlay_device* device = NULL;
  inlay_kernel* kernel = NULL;
  void* buffers[8];
  int64_t sizes[8];
  size_t bytes = 0, i;
  if (argc != 2) return 2;
  need(inlay_package_load(argv[1], &package));
  need(inlay_device_open("emulator", 0, &device));
  need(inlay_kernel_open(device, package, NULL, &kernel));
  inlay_package_free(package);
  for (i = 0; i < inlay_kernel_sizes(kernel); ++i) sizes[i] = i == 0 ? 4 : 128;
  for (i = 0; i < inlay_kernel_buffers(kernel); ++i) {
    void* zeros;
    need(inlay_kernel_buffer_bytes(kernel, i, sizes, inlay_kernel_sizes(kernel), &bytes));
    need(inlay_malloc(device, bytes, &buffers[i]));
    zeros = calloc(1, bytes);
    need(inlay_copy_in(device, buffers[i], zeros, bytes));
    free(zeros);
  }
  need(inlay_launch(kernel, buffers, inlay_kernel_buffers(kernel), sizes, inlay_kernel_sizes(kernel), NULL));
  need(inlay_synchronize(device));
  printf("%s launched on %s\n", argv[1], inlay_device_arch(device));
  inlay_kernel_free(kernel);
  inlay_device_free(device);
  return 0;
}
