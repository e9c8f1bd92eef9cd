// HIP: memory, copies, fills.
#include "state.h"

#include <cstring>

using namespace inlay::hip;

#define CALL(...) return guarded(__func__, [&] { __VA_ARGS__; })

namespace {

std::uint64_t number(const void* p) { return reinterpret_cast<std::uint64_t>(p); }
void* pointer(std::uint64_t p) { return reinterpret_cast<void*>(p); }

/// Rows of a copy or a fill: one, or of a pitch.
struct Rows {
  std::size_t width = 0, height = 1, to_pitch = 0, from_pitch = 0;
};

void copy(Stream& stream, void* to, const void* from, Rows r, bool and_wait) {
  if (r.width == 0 || r.height == 0) return;
  if (to == nullptr || from == nullptr)
    throw HipError(invalid_value, "a copy of " + std::to_string(r.width) + " bytes from or to NULL");
  if (r.height > 1 && (r.to_pitch < r.width || r.from_pitch < r.width))
    throw HipError(12, "rows are wider than their pitch");
  check_range("copies to", to, (r.height - 1) * r.to_pitch + r.width);
  check_range("copies from", from, (r.height - 1) * r.from_pitch + r.width);
  auto task = [=, mark = marker(to, (r.height - 1) * r.to_pitch + r.width)] {
    for (std::size_t y = 0; y < r.height; ++y)
      std::memmove(static_cast<char*>(to) + y * r.to_pitch, static_cast<const char*>(from) + y * r.from_pitch,
                   r.width);
    mark();
  };
  if (and_wait)
    enqueue_and_wait(stream, 1, std::move(task));
  else
    enqueue(stream, 1, std::move(task));
}

void fill(Stream& stream, void* to, std::uint32_t value, unsigned element, Rows r, bool and_wait) {
  if (r.width == 0 || r.height == 0) return;
  if (find_memory(number(to)) == nullptr)
    throw HipError(invalid_value, "fills memory that HIP did not give out");
  if (r.height > 1 && r.to_pitch < r.width) throw HipError(12, "rows are wider than their pitch");
  check_range("fills", to, (r.height - 1) * r.to_pitch + r.width);
  auto task = [=, mark = marker(to, (r.height - 1) * r.to_pitch + r.width)] {
    for (std::size_t y = 0; y < r.height; ++y)
      for (std::size_t i = 0; i + element <= r.width; i += element)
        std::memcpy(static_cast<char*>(to) + y * r.to_pitch + i, &value, element);
    mark();
  };
  if (and_wait)
    enqueue_and_wait(stream, 2, std::move(task));
  else
    enqueue(stream, 2, std::move(task));
}

int take(const char* call, void** out, std::size_t bytes, Memory::Kind kind, unsigned flags = 0) {
  return guarded(call, [&] {
    if (out == nullptr) throw HipError(invalid_value, "there is no place for the address");
    *out = bytes == 0 ? nullptr : pointer(allocate(current_device(), bytes, kind, flags));
  });
}
int give(const char* call, void* p) {
  return guarded(call, [&] {
    if (p != nullptr) release(number(p));
  });
}

std::pair<void*, std::size_t> symbol_range(const void* symbol, std::size_t bytes, std::size_t offset) {
  const auto [at, size] = variable_of(symbol);
  if (offset > size || bytes > size - offset)
    throw HipError(invalid_value, std::to_string(bytes) + " bytes from byte " + std::to_string(offset) +
                                      " of a variable of " + std::to_string(size));
  return {pointer(at + offset), size};
}

} // namespace

extern "C" {

using Size = std::size_t;

int hipMalloc(void** out, Size bytes) { return take(__func__, out, bytes, Memory::Kind::device); }
int hipExtMallocWithFlags(void** out, Size bytes, unsigned flags) {
  return take(__func__, out, bytes, Memory::Kind::device, flags);
}
int hipMallocManaged(void** out, Size bytes, unsigned flags) {
  return take(__func__, out, bytes, Memory::Kind::managed, flags);
}
int hipMallocAsync(void** out, Size bytes, void*) { return take(__func__, out, bytes, Memory::Kind::device); }
int hipMallocFromPoolAsync(void** out, Size bytes, void*, void*) {
  return take(__func__, out, bytes, Memory::Kind::device);
}
int hipMallocPitch(void** out, Size* pitch, Size width, Size height) {
  *pitch = (width + 127) / 128 * 128;
  return take(__func__, out, *pitch * height, Memory::Kind::device);
}
int hipMemAllocPitch(void** out, Size* pitch, Size width, Size height, unsigned) {
  return hipMallocPitch(out, pitch, width, height);
}
int hipHostMalloc(void** out, Size bytes, unsigned flags) {
  return take(__func__, out, bytes, Memory::Kind::host, flags);
}
int hipHostAlloc(void** out, Size bytes, unsigned flags) {
  return take(__func__, out, bytes, Memory::Kind::host, flags);
}
int hipMallocHost(void** out, Size bytes) { return take(__func__, out, bytes, Memory::Kind::host); }
int hipMemAllocHost(void** out, Size bytes) { return take(__func__, out, bytes, Memory::Kind::host); }
int hipFree(void* p) { return give(__func__, p); }
int hipHostFree(void* p) { return give(__func__, p); }
int hipFreeHost(void* p) { return give(__func__, p); }
int hipFreeAsync(void* p, void* stream) {
  // In a capture the memory stays: the graph will use it again.
  CALL(if (p != nullptr && stream_of(stream).capture == nullptr) release(number(p)));
}
int hipHostRegister(void* p, Size bytes, unsigned flags) { CALL(register_host(number(p), bytes, flags)); }
int hipHostUnregister(void* p) {
  CALL(State& s = State::get(); const auto at = s.memory.find(number(p));
       if (at == s.memory.end() ||
           at->second.kind != Memory::Kind::registered) throw HipError(713, "this memory is not registered");
       for (auto& d
            : s.devices) {
         const std::lock_guard lock(d->mutex);
         d->emulator->release(number(p));
       } s.memory.erase(at));
}
int hipHostGetDevicePointer(void** out, void* host, unsigned) {
  CALL(if (find_memory(number(host)) == nullptr) throw HipError(invalid_value,
                                                                "this memory is not registered");
       *out = host);
}
int hipHostGetFlags(unsigned* out, void* host) {
  CALL(const auto* m = find_memory(number(host));
       if (m == nullptr) throw HipError(invalid_value, "this memory is not registered");
       *out = m->second.flags);
}

int hipMemGetInfo(Size* free, Size* total) {
  return guarded(__func__, [&] {
    const State& s = State::get();
    *total = target().memory_bytes;
    Size used = 0;
    for (const auto& [begin, m] : s.memory)
      if (m.device == current_device() && m.kind == Memory::Kind::device) used += m.bytes;
    *free = used < *total ? *total - used : 0;
  });
}
int hipMemGetAddressRange(void** base, Size* bytes, void* p) {
  CALL(const auto* m = find_memory(number(p));
       if (m == nullptr) throw HipError(not_found, "no memory of HIP's lies there");
       if (base != nullptr)* base = pointer(m->first); if (bytes != nullptr)* bytes = m->second.bytes);
}
int hipMemPtrGetInfo(void* p, Size* bytes) { return hipMemGetAddressRange(nullptr, bytes, p); }
int hipPointerGetAttributes(PointerAttributes* out, const void* p) {
  return guarded(__func__, [&] {
    *out = {};
    const auto* m = find_memory(number(p));
    if (m == nullptr) { // version 6 says "unregistered" and succeeds
      out->device = -2;
      return;
    }
    const Memory::Kind k = m->second.kind;
    out->type = k == Memory::Kind::managed                                 ? 3
                : k == Memory::Kind::host || k == Memory::Kind::registered ? 1
                                                                           : 2;
    out->device = m->second.device;
    out->devicePointer = const_cast<void*>(p);
    out->hostPointer = out->type == 2 ? nullptr : out->devicePointer;
    out->isManaged = out->type == 3 ? 1 : 0;
    out->allocationFlags = m->second.flags;
  });
}
int hipPointerGetAttribute(void* out, int which, void* p) {
  return guarded(__func__, [&] {
    const auto* m = find_memory(number(p));
    if (m == nullptr) throw HipError(invalid_value, "no memory of HIP's lies there");
    const Memory::Kind k = m->second.kind;
    const auto put = [&](auto v) { std::memcpy(out, &v, sizeof v); };
    switch (which) { // hipPointer_attribute
    case 2:
      put(k == Memory::Kind::managed ? 3U : k == Memory::Kind::device || k == Memory::Kind::image ? 2U : 1U);
      break;
    case 3:
    case 4: put(p); break;
    case 7: put(m->first); break;
    case 8: put(static_cast<unsigned>(k == Memory::Kind::managed)); break;
    case 9: put(m->second.device); break;
    case 11: put(m->first); break;              // RANGE_START_ADDR
    case 12: put(Size{m->second.bytes}); break; // RANGE_SIZE
    case 13: put(1U); break;                    // MAPPED
    default: throw HipError(not_supported, "attribute " + std::to_string(which));
    }
  });
}

int hipMemcpy(void* to, const void* from, Size n, int) {
  CALL(copy(stream_of(nullptr), to, from, {n, 1, n, n}, true));
}
int hipMemcpyAsync(void* to, const void* from, Size n, int, void* s) {
  CALL(copy(stream_of(s), to, from, {n, 1, n, n}, false));
}
int hipMemcpyWithStream(void* to, const void* from, Size n, int, void* s) {
  CALL(copy(stream_of(s), to, from, {n, 1, n, n}, true));
}
int hipMemcpyHtoD(void* to, void* from, Size n) { return hipMemcpy(to, from, n, 1); }
int hipMemcpyDtoH(void* to, void* from, Size n) { return hipMemcpy(to, from, n, 2); }
int hipMemcpyDtoD(void* to, void* from, Size n) { return hipMemcpy(to, from, n, 3); }
int hipMemcpyHtoDAsync(void* to, void* from, Size n, void* s) { return hipMemcpyAsync(to, from, n, 1, s); }
int hipMemcpyDtoHAsync(void* to, void* from, Size n, void* s) { return hipMemcpyAsync(to, from, n, 2, s); }
int hipMemcpyDtoDAsync(void* to, void* from, Size n, void* s) { return hipMemcpyAsync(to, from, n, 3, s); }
int hipMemcpyPeer(void* to, int, const void* from, int, Size n) { return hipMemcpy(to, from, n, 3); }
int hipMemcpyPeerAsync(void* to, int, const void* from, int, Size n, void* s) {
  return hipMemcpyAsync(to, from, n, 3, s);
}
int hipMemcpy2D(void* to, Size tp, const void* from, Size fp, Size w, Size h, int) {
  CALL(copy(stream_of(nullptr), to, from, {w, h, tp, fp}, true));
}
int hipMemcpy2DAsync(void* to, Size tp, const void* from, Size fp, Size w, Size h, int, void* s) {
  CALL(copy(stream_of(s), to, from, {w, h, tp, fp}, false));
}
int hipMemcpyToSymbol(const void* symbol, const void* from, Size n, Size offset, int) {
  CALL(copy(stream_of(nullptr), symbol_range(symbol, n, offset).first, from, {n, 1, n, n}, true));
}
int hipMemcpyToSymbolAsync(const void* symbol, const void* from, Size n, Size offset, int, void* s) {
  CALL(copy(stream_of(s), symbol_range(symbol, n, offset).first, from, {n, 1, n, n}, false));
}
int hipMemcpyFromSymbol(void* to, const void* symbol, Size n, Size offset, int) {
  CALL(copy(stream_of(nullptr), to, symbol_range(symbol, n, offset).first, {n, 1, n, n}, true));
}
int hipMemcpyFromSymbolAsync(void* to, const void* symbol, Size n, Size offset, int, void* s) {
  CALL(copy(stream_of(s), to, symbol_range(symbol, n, offset).first, {n, 1, n, n}, false));
}
int hipGetSymbolAddress(void** out, const void* symbol) { CALL(*out = symbol_range(symbol, 0, 0).first); }
int hipGetSymbolSize(Size* out, const void* symbol) { CALL(*out = symbol_range(symbol, 0, 0).second); }

int hipMemset(void* to, int v, Size n) {
  CALL(fill(stream_of(nullptr), to, static_cast<std::uint32_t>(v), 1, {n, 1, n, n}, true));
}
int hipMemsetAsync(void* to, int v, Size n, void* s) {
  CALL(fill(stream_of(s), to, static_cast<std::uint32_t>(v), 1, {n, 1, n, n}, false));
}
int hipMemset2D(void* to, Size pitch, int v, Size w, Size h) {
  CALL(fill(stream_of(nullptr), to, static_cast<std::uint32_t>(v), 1, {w, h, pitch, pitch}, true));
}
int hipMemset2DAsync(void* to, Size pitch, int v, Size w, Size h, void* s) {
  CALL(fill(stream_of(s), to, static_cast<std::uint32_t>(v), 1, {w, h, pitch, pitch}, false));
}
int hipMemsetD8(void* to, unsigned char v, Size n) {
  CALL(fill(stream_of(nullptr), to, v, 1, {n, 1, n, n}, true));
}
int hipMemsetD16(void* to, unsigned short v, Size n) {
  CALL(fill(stream_of(nullptr), to, v, 2, {2 * n, 1, 2 * n, 0}, true));
}
int hipMemsetD32(void* to, int v, Size n) {
  CALL(fill(stream_of(nullptr), to, static_cast<std::uint32_t>(v), 4, {4 * n, 1, 4 * n, 0}, true));
}
int hipMemsetD8Async(void* to, unsigned char v, Size n, void* s) {
  CALL(fill(stream_of(s), to, v, 1, {n, 1, n, n}, false));
}
int hipMemsetD16Async(void* to, unsigned short v, Size n, void* s) {
  CALL(fill(stream_of(s), to, v, 2, {2 * n, 1, 2 * n, 0}, false));
}
int hipMemsetD32Async(void* to, int v, Size n, void* s) {
  CALL(fill(stream_of(s), to, static_cast<std::uint32_t>(v), 4, {4 * n, 1, 4 * n, 0}, false));
}

int hipMemPrefetchAsync(const void*, Size, int, void*) { return success; }
int hipMemAdvise(const void*, Size, int, int) { return success; }
// One pool a device, which keeps nothing back.
int hipDeviceGetDefaultMemPool(void** out, int ordinal) { CALL(*out = &State::get().device(ordinal)); }
int hipDeviceGetMemPool(void** out, int ordinal) { CALL(*out = &State::get().device(ordinal)); }
int hipDeviceSetMemPool(int, void*) { return success; }
int hipMemPoolTrimTo(void*, Size) { return success; }
int hipMemPoolSetAttribute(void*, int, void*) { return success; }
int hipMemPoolGetAttribute(void*, int, void* out) { return std::memset(out, 0, 8), success; }

} // extern "C"
