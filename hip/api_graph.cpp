// HIP: graphs, captured or put together node by node.
#include "state.h"

#include <algorithm>
#include <cstring>

using namespace inlay::hip;

#define CALL(...) return guarded(__func__, [&] { __VA_ARGS__; })

namespace {

Graph& graph_of(void* handle) {
  State& s = State::get();
  if (const auto at = s.graphs.find(handle); at != s.graphs.end()) return *at->second;
  for (auto& [ordinal, t] : s.standard)
    if (t.capture == handle && handle != nullptr) return *t.capture;
  for (auto& [h, t] : s.streams)
    if (t->capture == handle && handle != nullptr) return *t->capture;
  throw HipError(invalid_handle, "this is no graph, or it was destroyed");
}
GraphExec& exec_of(void* handle) {
  State& s = State::get();
  const auto at = s.execs.find(handle);
  if (at == s.execs.end())
    throw HipError(invalid_handle, "this is no instantiated graph, or it was destroyed");
  return *at->second;
}

int add(const char* call, void** out, void* graph, void* const* after, std::size_t count, int type,
        const std::function<std::function<void()>()>& make) {
  return guarded(call, [&] {
    Graph& g = graph_of(graph);
    auto node = std::make_unique<Node>();
    node->type = type;
    for (std::size_t i = 0; i < count; ++i) {
      const auto at =
          std::find_if(g.nodes.begin(), g.nodes.end(), [&](const auto& n) { return n.get() == after[i]; });
      if (at == g.nodes.end()) throw HipError(invalid_value, "a dependency is no node of this graph");
      node->after.push_back(at->get());
    }
    node->run = make();
    *out = node.get();
    g.nodes.push_back(std::move(node));
  });
}

/// Nodes after all that they depend on; of several, the one that was added first.
std::vector<const Node*> in_order(const Graph& g) {
  std::vector<const Node*> out;
  std::set<const Node*> done;
  while (out.size() < g.nodes.size()) {
    const auto before = out.size();
    for (const auto& n : g.nodes) {
      if (done.contains(n.get())) continue;
      if (!std::all_of(n->after.begin(), n->after.end(), [&](const Node* d) { return done.contains(d); }))
        continue;
      out.push_back(n.get());
      done.insert(n.get());
    }
    if (out.size() == before) throw HipError(invalid_value, "the graph has a cycle");
  }
  return out;
}

std::function<void()> kernel_task(const KernelNode& p) {
  Function& f = function_of_symbol(p.func);
  const inlay::runtime::LaunchGeometry geometry{
      {p.gridDim.x, p.gridDim.y, p.gridDim.z}, {p.blockDim.x, p.blockDim.y, p.blockDim.z}, p.sharedMemBytes};
  return [&f, geometry, segment = segment_of(f, geometry, p.kernelParams, p.extra),
          ordinal = current_device()] { launch(ordinal, f, geometry, segment); };
}
std::function<void()> copy_task(void* to, const void* from, std::size_t n) {
  check_range("copies to", to, n);
  check_range("copies from", from, n);
  return [=, mark = marker(to, n)] {
    std::memmove(to, from, n);
    mark();
  };
}
std::function<void()> fill_task(const MemsetNode& p) {
  if (p.width != 0 && p.height != 0)
    check_range("fills", p.dst, (p.height - 1) * p.pitch + p.width * p.elementSize);
  return [p, mark = marker(p.dst, p.height == 0 ? 0 : (p.height - 1) * p.pitch + p.width * p.elementSize)] {
    for (std::size_t y = 0; y < p.height; ++y)
      for (std::size_t i = 0; i < p.width; ++i)
        std::memcpy(static_cast<char*>(p.dst) + y * p.pitch + i * p.elementSize, &p.value, p.elementSize);
    mark();
  };
}
std::function<void()> host_task(const HostNode& p) {
  return [p] { unlocked([&] { p.fn(p.userData); }); };
}

int set(const char* call, void* exec, void* node, const std::function<std::function<void()>()>& make) {
  return guarded(call, [&] {
    GraphExec& e = exec_of(exec);
    const auto at =
        std::find_if(e.steps.begin(), e.steps.end(), [&](const auto& s) { return s.first == node; });
    if (at == e.steps.end()) throw HipError(invalid_value, "the instantiated graph has no such node");
    at->second = make();
  });
}

int instantiate(const char* call, void** out, void* graph) {
  return guarded(call, [&] {
    auto e = std::make_unique<GraphExec>();
    for (const Node* n : in_order(graph_of(graph))) e->steps.emplace_back(n, n->run);
    *out = e.get();
    State::get().execs.emplace(e.get(), std::move(e));
  });
}

} // namespace

extern "C" {

using Size = std::size_t;

int hipGraphCreate(void** out, unsigned) {
  CALL(auto g = std::make_unique<Graph>(); *out = g.get();
       State::get().graphs.emplace(g.get(), std::move(g)));
}
int hipGraphDestroy(void* graph) { CALL((void)graph_of(graph); State::get().graphs.erase(graph)); }
int hipGraphInstantiate(void** out, void* graph, void**, char*, Size) {
  return instantiate(__func__, out, graph);
}
int hipGraphInstantiateWithFlags(void** out, void* graph, unsigned long long) {
  return instantiate(__func__, out, graph);
}
int hipGraphUpload(void* exec, void*) { CALL((void)exec_of(exec)); }
int hipGraphLaunch(void* exec, void* stream) {
  return guarded(__func__, [&] {
    GraphExec& e = exec_of(exec);
    Stream& s = stream_of(stream);
    for (const auto& [node, run] : e.steps) enqueue(s, node->type, run);
  });
}
int hipGraphExecDestroy(void* exec) { CALL((void)exec_of(exec); State::get().execs.erase(exec)); }
int hipGraphGetNodes(void* graph, void** out, Size* count) {
  return guarded(__func__, [&] {
    const Graph& g = graph_of(graph);
    for (Size i = 0; out != nullptr && i < std::min(*count, g.nodes.size()); ++i) out[i] = g.nodes[i].get();
    *count = g.nodes.size();
  });
}
int hipGraphGetRootNodes(void* graph, void** out, Size* count) {
  return guarded(__func__, [&] {
    Size n = 0;
    for (const auto& node : graph_of(graph).nodes)
      if (node->after.empty()) {
        if (out != nullptr && n < *count) out[n] = node.get();
        ++n;
      }
    *count = n;
  });
}
int hipGraphNodeGetType(void* node, int* out) {
  return guarded(__func__, [&] {
    for (const auto& [h, g] : State::get().graphs)
      for (const auto& n : g->nodes)
        if (n.get() == node) {
          *out = n->type;
          return;
        }
    throw HipError(invalid_handle, "this is no node of a graph");
  });
}
int hipGraphAddDependencies(void* graph, void* const* from, void* const* to, Size count) {
  return guarded(__func__, [&] {
    Graph& g = graph_of(graph);
    const auto find = [&](void* p) {
      const auto at =
          std::find_if(g.nodes.begin(), g.nodes.end(), [&](const auto& n) { return n.get() == p; });
      if (at == g.nodes.end()) throw HipError(invalid_value, "this is no node of the graph");
      return at->get();
    };
    for (Size i = 0; i < count; ++i) find(to[i])->after.push_back(find(from[i]));
  });
}
int hipGraphAddEmptyNode(void** out, void* graph, void* const* after, Size count) {
  return add(__func__, out, graph, after, count, 5, [] { return [] {}; });
}
int hipGraphAddKernelNode(void** out, void* graph, void* const* after, Size count, const KernelNode* p) {
  return add(__func__, out, graph, after, count, 0, [&] { return kernel_task(*p); });
}
int hipGraphAddMemcpyNode1D(void** out, void* graph, void* const* after, Size count, void* to,
                            const void* from, Size n, int) {
  return add(__func__, out, graph, after, count, 1, [&] { return copy_task(to, from, n); });
}
int hipGraphAddMemsetNode(void** out, void* graph, void* const* after, Size count, const MemsetNode* p) {
  return add(__func__, out, graph, after, count, 2, [&] { return fill_task(*p); });
}
int hipGraphAddHostNode(void** out, void* graph, void* const* after, Size count, const HostNode* p) {
  return add(__func__, out, graph, after, count, 3, [&] { return host_task(*p); });
}
int hipGraphExecKernelNodeSetParams(void* exec, void* node, const KernelNode* p) {
  return set(__func__, exec, node, [&] { return kernel_task(*p); });
}
int hipGraphExecMemcpyNodeSetParams1D(void* exec, void* node, void* to, const void* from, Size n, int) {
  return set(__func__, exec, node, [&] { return copy_task(to, from, n); });
}
int hipGraphExecMemsetNodeSetParams(void* exec, void* node, const MemsetNode* p) {
  return set(__func__, exec, node, [&] { return fill_task(*p); });
}
int hipGraphExecHostNodeSetParams(void* exec, void* node, const HostNode* p) {
  return set(__func__, exec, node, [&] { return host_task(*p); });
}

} // extern "C"
