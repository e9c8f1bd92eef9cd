// HIP: streams, events, captures.
#include "state.h"

#include <atomic>

using namespace inlay::hip;

#define CALL(...) return guarded(__func__, [&] { __VA_ARGS__; })

namespace {

int create(const char* call, void** out, unsigned flags, int priority) {
  return guarded(call, [&] {
    State& s = State::get();
    auto stream = std::make_unique<Stream>();
    stream->device = current_device();
    stream->flags = flags;
    stream->priority = priority;
    *out = stream.get();
    s.streams.emplace(stream.get(), std::move(stream));
  });
}

Event& event_of(void* handle) {
  State& s = State::get();
  const auto at = s.events.find(handle);
  if (at == s.events.end()) throw HipError(invalid_handle, "this is no event, or it was destroyed");
  return *at->second;
}

/// Each record has a number; whoever waits does so for the last one when it asks.
void wait_for(Event& e, std::uint64_t number) {
  std::unique_lock lock(e.mutex);
  e.changed.wait(lock, [&] { return e.reached >= number; });
}

void record(Event& e, Stream& stream) {
  e.capture = stream.capture;
  e.device = stream.device;
  if (stream.capture != nullptr)
    return; // who waits for it joins the capture; the graph may outlive the event
  enqueue(stream, 7, [&e, number = ++e.asked] {
    const std::lock_guard lock(e.mutex);
    e.at = std::chrono::steady_clock::now();
    e.reached = std::max(e.reached, number);
    e.changed.notify_all();
  });
}

/// With one device nobody writes while a stream waits: what is not there yet never comes.
template <class T>
int wait_value(const char* call, void* handle, void* at, T value, unsigned flags, T mask) {
  return guarded(call, [&] {
    check_range("waits for", at, sizeof(T));
    const bool alone = State::get().devices.size() == 1;
    enqueue(stream_of(handle), 6, [=] {
      const auto come = [&] {
        const T v = __atomic_load_n(static_cast<T*>(at), __ATOMIC_ACQUIRE) & mask;
        switch (flags) {
        case 0: return static_cast<std::make_signed_t<T>>(v - value) >= 0;
        case 1: return v == value;
        case 2: return (v & value) != 0;
        default: return T(~(v | value)) != 0;
        }
      };
      while (!come()) {
        if (alone)
          throw HipError(not_supported,
                         "a wait for a value that is written later; one device runs its work in order");
        std::this_thread::yield();
      }
    });
  });
}

void ended(Stream& origin) {
  Graph* const graph = origin.capture;
  State& s = State::get();
  const auto leave = [&](Stream& t) {
    if (t.capture == graph) t.capture = nullptr, t.joined = false;
  };
  for (auto& [handle, t] : s.streams) leave(*t);
  for (auto& [ordinal, t] : s.standard) leave(t);
}

void not_captured(const Stream& s, const char* what) {
  if (s.capture != nullptr)
    throw HipError(capture_implicit, std::string(what) + " in a stream that is being captured");
}

} // namespace

extern "C" {

int hipStreamCreate(void** out) { return create(__func__, out, 0, 0); }
int hipStreamCreateWithFlags(void** out, unsigned flags) { return create(__func__, out, flags, 0); }
int hipStreamCreateWithPriority(void** out, unsigned flags, int priority) {
  return create(__func__, out, flags, priority);
}
int hipExtStreamCreateWithCUMask(void** out, std::uint32_t, const std::uint32_t*) {
  return create(__func__, out, 0, 0);
}
int hipStreamDestroy(void* handle) {
  CALL(Stream& s = stream_of(handle); wait(s.device);
       if (State::get().streams.erase(handle) == 0) throw HipError(invalid_handle, "the null stream stays"));
}
int hipStreamSynchronize(void* handle) {
  CALL(Stream& s = stream_of(handle); not_captured(s, "a wait"); wait(s.device));
}
int hipStreamQuery(void* handle) {
  return guarded(__func__, [&] {
    const Stream& s = stream_of(handle);
    Device& d = State::get().device(s.device);
    const std::lock_guard lock(d.queue_mutex);
    if (d.done < d.enqueued) throw HipError(not_ready, "work is under way");
  });
}
int hipStreamGetFlags(void* handle, unsigned* out) { CALL(*out = stream_of(handle).flags); }
int hipStreamGetPriority(void* handle, int* out) { CALL(*out = stream_of(handle).priority); }
int hipStreamGetDevice(void* handle, int* out) { CALL(*out = stream_of(handle).device); }
int hipGetStreamDeviceId(void* handle) {
  int out = -1;
  return hipStreamGetDevice(handle, &out) == success ? out : -1;
}
int hipStreamWaitEvent(void* handle, void* event, unsigned) {
  return guarded(__func__, [&] {
    Stream& s = stream_of(handle);
    Event& e = event_of(event);
    if (e.capture != nullptr) { // the fork of a capture: this stream's work is part of it from here on
      if (s.capture == nullptr) s.capture = e.capture, s.joined = true;
      if (s.capture != e.capture)
        throw HipError(902, "the streams are in two captures"); // hipErrorStreamCaptureMerge
      return;
    }
    enqueue(s, 6, [&e, number = e.asked] { wait_for(e, number); });
  });
}
int hipLaunchHostFunc(void* handle, void (*fn)(void*), void* data) {
  CALL(enqueue(stream_of(handle), 3, [fn, data] { unlocked([&] { fn(data); }); }));
}
int hipStreamAddCallback(void* handle, void (*fn)(void*, int, void*), void* data, unsigned) {
  CALL(Stream& s = stream_of(handle); not_captured(s, "a callback");
       enqueue(s, 3, [fn, data, handle] { unlocked([&] { fn(handle, success, data); }); }));
}
int hipStreamWriteValue32(void* handle, void* at, std::uint32_t value, unsigned) {
  CALL(check_range("writes", at, 4); enqueue(stream_of(handle), 1, [=, mark = marker(at, 4)] {
         __atomic_store_n(static_cast<std::uint32_t*>(at), value, __ATOMIC_RELEASE);
         mark();
       }));
}
int hipStreamWriteValue64(void* handle, void* at, std::uint64_t value, unsigned) {
  CALL(check_range("writes", at, 8); enqueue(stream_of(handle), 1, [=, mark = marker(at, 8)] {
         __atomic_store_n(static_cast<std::uint64_t*>(at), value, __ATOMIC_RELEASE);
         mark();
       }));
}

int hipStreamWaitValue32(void* handle, void* at, std::uint32_t value, unsigned flags, std::uint32_t mask) {
  return wait_value<std::uint32_t>(__func__, handle, at, value, flags, mask);
}
int hipStreamWaitValue64(void* handle, void* at, std::uint64_t value, unsigned flags, std::uint64_t mask) {
  return wait_value<std::uint64_t>(__func__, handle, at, value, flags, mask);
}

int hipEventCreateWithFlags(void** out, unsigned flags) {
  return guarded(__func__, [&] {
    auto e = std::make_unique<Event>();
    e->device = current_device();
    e->flags = flags;
    *out = e.get();
    State::get().events.emplace(e.get(), std::move(e));
  });
}
int hipEventCreate(void** out) { return hipEventCreateWithFlags(out, 0); }
int hipEventDestroy(void* handle) {
  CALL(Event& e = event_of(handle); wait(e.device); State::get().events.erase(handle));
}
int hipEventRecord(void* handle, void* stream) { CALL(record(event_of(handle), stream_of(stream))); }
int hipEventRecordWithFlags(void* handle, void* stream, unsigned) { return hipEventRecord(handle, stream); }
int hipEventSynchronize(void* handle) {
  CALL(Event& e = event_of(handle); unlocked([&] { wait_for(e, e.asked); }));
}
int hipEventQuery(void* handle) {
  return guarded(__func__, [&] {
    Event& e = event_of(handle);
    const std::lock_guard lock(e.mutex);
    if (e.reached < e.asked) throw HipError(not_ready, "the event has not come");
  });
}
int hipEventElapsedTime(float* out, void* begin, void* end) {
  return guarded(__func__, [&] {
    Event &a = event_of(begin), &b = event_of(end);
    if (a.asked == 0 || b.asked == 0) throw HipError(invalid_handle, "an event was not recorded");
    if (a.reached < a.asked || b.reached < b.asked) throw HipError(not_ready, "an event has not come");
    *out = std::chrono::duration<float, std::milli>(b.at - a.at).count();
  });
}

int hipStreamBeginCapture(void* handle, int) {
  CALL(Stream& s = stream_of(handle); not_captured(s, "a second capture"); s.own = std::make_unique<Graph>();
       s.capture = s.own.get());
}
int hipStreamEndCapture(void* handle, void** out) {
  return guarded(__func__, [&] {
    Stream& s = stream_of(handle);
    if (s.capture == nullptr || s.own == nullptr)
      throw HipError(capture_unmatched, "no capture began on this stream");
    ended(s);
    *out = s.own.get();
    State::get().graphs.emplace(s.own.get(), std::move(s.own));
  });
}
int hipStreamIsCapturing(void* handle, int* out) {
  CALL(*out = stream_of(handle).capture != nullptr ? 1 : 0);
}
int hipStreamGetCaptureInfo(void* handle, int* out, unsigned long long* id) {
  CALL(const Stream& s = stream_of(handle); *out = s.capture != nullptr ? 1 : 0;
       if (id != nullptr)* id = reinterpret_cast<std::uint64_t>(s.capture));
}
int hipStreamGetCaptureInfo_v2(void* handle, int* out, unsigned long long* id, void** graph,
                               const void*** after, std::size_t* count) {
  return guarded(__func__, [&] {
    const Stream& s = stream_of(handle);
    *out = s.capture != nullptr ? 1 : 0;
    if (id != nullptr) *id = reinterpret_cast<std::uint64_t>(s.capture);
    if (graph != nullptr) *graph = s.capture;
    if (after != nullptr) *after = nullptr;
    if (count != nullptr) *count = 0;
  });
}
int hipThreadExchangeStreamCaptureMode(int* mode) {
  thread_local int now = 0;
  return std::swap(now, *mode), success;
}

} // extern "C"
