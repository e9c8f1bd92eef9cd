"""What the drivers of tests/peers share: the emulator as a device (hip/), cases, and how they are judged.

A driver makes `Case`s: a name, a function that runs kernels on a `Device` and returns what came out beside what is right, and
`argued`: the findings that are known, each by kind with a reason that docs/measurements/strangers.md gives in full. A case passes when all
values are right, every finding that is not a note is argued, and every argued one was found.
"""
import argparse, ctypes, fnmatch, json, pathlib, sys, time

try:
  import numpy as np
except ImportError:
  print("skipped: no numpy here")
  sys.exit(77)

root = pathlib.Path(__file__).resolve().parents[2]


class Device:
  """Memory and launches of one emulator; arrays over its memory are numpy arrays."""

  def __init__(self, library):
    self.hip = ctypes.CDLL(str(library))  # before anybody else opens libamdhip64.so.7: they get this one
    self.hip.inlay_hip_report.restype = self.hip.inlay_hip_error.restype = self.hip.inlay_hip_kernel_name.restype = ctypes.c_char_p
    handle = ctypes.POINTER(ctypes.c_void_p)
    self.hip.hipMalloc.argtypes = [handle, ctypes.c_size_t]
    self.hip.hipModuleLoadData.argtypes = [handle, ctypes.c_char_p]
    self.hip.hipModuleGetFunction.argtypes = [handle, ctypes.c_void_p, ctypes.c_char_p]
    self.hip.inlay_hip_written.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    self.hip.inlay_hip_kernel_name.argtypes = [ctypes.c_void_p, ctypes.c_uint]
    self.hip.inlay_hip_launch.argtypes = [ctypes.c_void_p] + [ctypes.c_uint] * 7 + [ctypes.c_void_p, ctypes.c_size_t]

  def check(self, code):
    if code != 0: raise RuntimeError(self.hip.inlay_hip_error().decode())

  def open(self, arch, checks="all", seeds=2, threads=1, dump=None):
    self.arch = arch
    self.check(self.hip.inlay_hip_open(arch.encode(), checks.encode(), seeds, threads, None if dump is None else str(dump).encode()))

  def empty(self, shape, dtype):
    """Memory that nobody has written: reading it before a kernel stores there is a finding where it decides something."""
    dtype = np.dtype(dtype)
    count = int(np.prod(shape))
    at = ctypes.c_void_p()
    self.check(self.hip.hipMalloc(ctypes.byref(at), count * dtype.itemsize))
    buffer = (ctypes.c_uint8 * max(1, count * dtype.itemsize)).from_address(at.value)
    return np.frombuffer(buffer, dtype=dtype, count=count).reshape(shape)

  def array(self, values):
    values = np.ascontiguousarray(values)
    out = self.empty(values.shape, values.dtype)
    out[...] = values
    self.written(out)
    return out

  def written(self, array):
    if array.nbytes: self.check(self.hip.inlay_hip_written(array.ctypes.data, array.nbytes))

  def tensor(self, t):
    """A torch tensor's values in device memory, as a torch tensor over it."""
    import torch
    return torch.from_numpy(self.array(t.contiguous().view(torch.uint8).numpy() if t.dim() else t.numpy())).view(t.dtype).view(t.shape)

  def empty_tensor(self, shape, dtype):
    import torch
    size = torch.empty((), dtype=dtype).element_size()
    count = int(np.prod(shape))
    return torch.from_numpy(self.empty((count * size,), np.uint8)).view(dtype).view(shape)

  def load(self, image):
    module = ctypes.c_void_p()
    self.check(self.hip.hipModuleLoadData(ctypes.byref(module), ctypes.c_char_p(image)))
    return module

  def kernel(self, module, name=None):
    function = ctypes.c_void_p()
    name = self.hip.inlay_hip_kernel_name(module, 0) if name is None else name.encode()
    self.check(self.hip.hipModuleGetFunction(ctypes.byref(function), module, name))
    return function

  def launch(self, function, grid, block, segment, lds=0):
    """`segment`: the bytes of the argument segment."""
    grid, block = ((tuple(x) + (1, 1))[:3] for x in (grid, block))
    self.check(self.hip.inlay_hip_launch(function, *grid, *block, lds, bytes(segment), len(segment)))

  def report(self):
    return json.loads(self.hip.inlay_hip_report().decode())


class Wrong(Exception):
  pass


def close(got, want, relative, absolute=0.0, what="value"):
  """Each element: |got - want| <= relative |want| + absolute, which may be an array. A NaN is wrong unless NaN is right."""
  got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
  if got.shape != want.shape: raise Wrong(f"{what}: shape {got.shape}, expected {want.shape}")
  with np.errstate(invalid="ignore"):
    good = (np.abs(got - want) <= relative * np.abs(want) + absolute) | (got == want) | (np.isnan(got) & np.isnan(want))
  if not good.all():
    at = tuple(int(x) for x in np.argwhere(~good)[0])
    raise Wrong(f"{what}: {int((~good).sum())} of {good.size} wrong, first at {at}: {got[at]}, expected {want[at]}")


def same(got, want, what="value"):
  close(got, want, 0.0, 0.0, what)


class Case:
  def __init__(self, name, run, argued=None, arch=None):
    self.name, self.run, self.argued, self.arch = name, run, argued or {}, arch


def bits(x):
  """Values of bf16 (as uint16) as float64."""
  return (np.asarray(x, np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def to_bf16(x):
  """Nearest even."""
  u = np.ascontiguousarray(x, np.float32).view(np.uint32)
  return ((u + 0x7fff + ((u >> 16) & 1)) >> 16).astype(np.uint16)


def arguments(description):
  parser = argparse.ArgumentParser(description=description)
  parser.add_argument("--library", default=str(root / "build/release/lib/inlay/libamdhip64.so.7"))
  parser.add_argument("--only", default="*", help="glob over names of cases")
  parser.add_argument("--seeds", type=int, default=2, help="runs under stress")
  parser.add_argument("--checks", default="all")
  parser.add_argument("--threads", type=int, default=1)
  parser.add_argument("--list", action="store_true")
  parser.add_argument("--findings", action="store_true", help="print findings in full")
  parser.add_argument("--dump", help="folder for code objects, buffers and `inlay exec` command lines")
  parser.add_argument("--json", help="append a line a case")
  return parser


def skip(why):
  print("skipped:", why)
  sys.exit(77)


def judge(case, launches, wrong):
  """Complaints; none: passed."""
  out = [wrong] if wrong else []
  kinds = {}
  for l in launches:
    if l["error"]: out.append("error: " + l["error"].splitlines()[0])
    if l["stress"]: kinds.setdefault("stress", l["stress"])
    for f in l["findings"]:
      if not f["note"]: kinds.setdefault(f["kind"], f"{f['disassembly']}: {f['message']}")
  for kind, text in kinds.items():
    if kind not in case.argued: out.append(f"{kind}: {text}")
  for kind in case.argued:
    if kind not in kinds: out.append(f"{kind} was not found, which is argued: {case.argued[kind]}")
  return out


def run(device, cases, options, set_up=lambda arch: None):
  cases = [c for c in cases if fnmatch.fnmatch(c.name, options.only)]
  if options.list:
    for c in cases: print(c.name)
    return 0
  failed = skipped = 0
  for case in cases:
    arch = case.arch or "gfx942"
    begin = time.time()
    wrong = None
    device.open(arch, options.checks, options.seeds, options.threads, options.dump)
    try:
      set_up(arch)
      case.run(device)
    except Wrong as e:
      wrong = str(e)
    except ModuleNotFoundError as e:  # a peer that is not installed
      device.report()
      skipped += 1
      print(f"skipped {case.name}: no module {e.name}", flush=True)
      continue
    except Exception as e:  # a compiler that refuses is not the emulator's fault, but says so
      wrong = f"{type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}"
    launches = device.report()
    complaints = judge(case, launches, wrong)
    failed += bool(complaints)
    found = sorted({f["kind"] for l in launches for f in l["findings"] if not f["note"]} | ({"stress"} if any(l["stress"] for l in launches) else set()))
    print(f"{'FAILED' if complaints else 'right ':6} {case.name:58} {len(launches)} launches, "
          f"{sum(l['instructions'] for l in launches):>9} instructions, {time.time() - begin:6.1f} s"
          f"{'  ' + ' '.join(found) if found else ''}", flush=True)
    for c in complaints: print("       " + c[:400])
    if options.findings:
      for l in launches:
        for f in l["findings"]: print("\n".join("       " + x for x in f["text"].splitlines()))
        if l["stress"]: print("       stress: " + l["stress"])
    if options.json:
      with open(options.json, "a") as f:
        f.write(json.dumps({"case": case.name, "arch": arch, "complaints": complaints, "found": found,
                            "findings": [f for l in launches for f in l["findings"]]}) + "\n")
  print(f"{len(cases) - failed - skipped} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
  return 1 if failed else 77 if skipped and skipped == len(cases) else 0
