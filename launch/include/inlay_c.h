/**
 * Launching kernels from C, or from anything that calls C: a stable binary interface, without LLVM and Z3.
 *
 *     inlay_package* package;  inlay_device* device;  inlay_kernel* gemm;
 *     inlay_package_load("kernels.inlay", &package);           // inlay bundle, or the manifest that inlay build wrote
 *     inlay_device_open("hip", 0, &device);                    // or "emulator:gfx950": no GPU needed
 *     inlay_kernel_open(device, package, "gemm", &gemm);
 *     void* buffers[] = {c, a, b};                             // device memory, in the manifest's order
 *     int64_t sizes[] = {m, n, k};
 *     if (inlay_launch(gemm, buffers, 3, sizes, 3, stream) != INLAY_OK) puts(inlay_error());
 *
 * Every function that can fail returns an inlay_status; inlay_error() is the message of this thread's last failure. Sizes and buffers
 * are checked against the launch's contract first. Objects are opaque; a device outlives its kernels, a package may go earlier.
 * The interface only grows: INLAY_ABI is the number of its version, inlay_abi() that of the library in use.
 */
#ifndef INLAY_C_H
#define INLAY_C_H

#include <stddef.h>
#include <stdint.h>

#define INLAY_ABI 4

#ifdef __cplusplus
extern "C" {
#endif

typedef enum inlay_status {
  INLAY_OK = 0,
  INLAY_INVALID = 1, /* arguments, sizes, files: the caller's to fix */
  INLAY_DEVICE = 2,  /* the device or HIP refused */
  INLAY_FINDING = 3  /* the emulator ran the kernel and found a defect in it */
} inlay_status;

typedef struct inlay_package inlay_package;
typedef struct inlay_device inlay_device;
typedef struct inlay_kernel inlay_kernel;

int inlay_abi(void);
/** Never NULL; valid until this thread's next call. */
const char* inlay_error(void);

/** A bundle, or a manifest with its code object beside it. */
inlay_status inlay_package_load(const char* file, inlay_package** out);
void inlay_package_free(inlay_package* package);
size_t inlay_package_count(const inlay_package* package);
/** Name and processor of kernel `i`; NULL beyond the last one. */
const char* inlay_package_kernel(const inlay_package* package, size_t i);
const char* inlay_package_arch(const inlay_package* package, size_t i);

/**
 * "hip": the GPU of that ordinal, by libamdhip64 (INLAY_HIP_LIBRARY names another file). "emulator" or "emulator:gfx950": libamdhip64 on
 * the emulator, which is installed in the folder inlay/ beside this library (INLAY_EMULATOR_LIBRARY); one processor a process,
 * by whatever name, and another one is refused. Once a process has opened the emulator "hip" is refused, but where INLAY_HIP_LIBRARY says
 * that HIP is the emulator's.
 */
inlay_status inlay_device_open(const char* kind, int ordinal, inlay_device** out);
void inlay_device_free(inlay_device* device);
/** "gfx942", ... */
const char* inlay_device_arch(const inlay_device* device);

inlay_status inlay_malloc(inlay_device* device, size_t bytes, void** out);
inlay_status inlay_free(inlay_device* device, void* memory);
inlay_status inlay_copy_in(inlay_device* device, void* to, const void* from, size_t bytes);
inlay_status inlay_copy_out(inlay_device* device, void* to, const void* from, size_t bytes);
inlay_status inlay_synchronize(inlay_device* device);
/** On the emulator: memory of the host that launches use where it lies, from `begin` on, until inlay_unregister. What it holds counts as written.
 * Nobody but launches accesses it while one is under way: where bounds are checked and other memory lies so near that an overrun could end there, a launch gets a copy.
 * INLAY_DEVICE for memory that is registered already, in part or whole, and for a GPU. Since version 3. */
inlay_status inlay_register(inlay_device* device, void* begin, size_t bytes);
inlay_status inlay_unregister(inlay_device* device, void* begin);

/** The kernel of that name for the device's processor; NULL: the only one. A manifest whose arguments are not those that the code object
    declares is INLAY_INVALID. */
inlay_status inlay_kernel_open(inlay_device* device, const inlay_package* package, const char* name,
                               inlay_kernel** out);
void inlay_kernel_free(inlay_kernel* kernel);
/** Buffers and sizes that a launch takes, and their names in order; of buffers the type of an element too, `bf16`, or "" where the manifest has
    none. NULL beyond the last one. */
size_t inlay_kernel_buffers(const inlay_kernel* kernel);
size_t inlay_kernel_sizes(const inlay_kernel* kernel);
const char* inlay_kernel_buffer_name(const inlay_kernel* kernel, size_t i);
const char* inlay_kernel_buffer_type(const inlay_kernel* kernel, size_t i);
/** Whether the kernel writes buffer `i`. Since version 3. */
int inlay_kernel_buffer_output(const inlay_kernel* kernel, size_t i);
const char* inlay_kernel_size_name(const inlay_kernel* kernel, size_t i);
/** The bytes that buffer `i` needs for these sizes; 0 for one that the form which is launched for them does not take: NULL will do. */
inlay_status inlay_kernel_buffer_bytes(const inlay_kernel* kernel, size_t i, const int64_t* sizes,
                                       size_t size_count, size_t* out);
/** The extents of buffer `i` for these sizes, whose elements lie row by row: `*dimensions` of them, of which the first `room` are written to
 * `extents`, which may be NULL where `room` is 0. None where the manifest does not say it, and of another form's buffer. A launch goes by
 * addresses: this is for who has arrays with shapes, of which a transposed one has as many bytes. Since version 4. */
inlay_status inlay_kernel_buffer_shape(const inlay_kernel* kernel, size_t i, const int64_t* sizes,
                                       size_t size_count, int64_t* extents, size_t room, size_t* dimensions);
/** How many forms the kernel has, of which each launch takes the one that is for its sizes; and which one that is, with the row of the
 * table that says so as text, valid until this thread's next call. `form` and `why` may be NULL. Since version 2. */
size_t inlay_kernel_forms(const inlay_kernel* kernel);
inlay_status inlay_kernel_form(const inlay_kernel* kernel, const int64_t* sizes, size_t size_count,
                               size_t* form, const char** why);
/** Enqueues a launch on `stream`, one of HIP; NULL: the device's own. Sizes: all of them, or none for those it was built for.
 * Where a size of 0 leaves every output empty nothing is launched, which is INLAY_OK. */
inlay_status inlay_launch(inlay_kernel* kernel, void* const* buffers, size_t buffer_count,
                          const int64_t* sizes, size_t size_count, void* stream);

#ifdef __cplusplus
}
#endif

#endif
