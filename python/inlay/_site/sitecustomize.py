"""Of a Python that `inlay run-with` starts: torch's device "cuda" is the processor, and launches of Triton and FlyDSL run on the emulator.

Each of them is adapted when the program has imported it; a torch that has a GPU is left alone.
"""
import importlib.machinery
import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.dirname(HERE)
emulator = None


def adapt(name):
    global emulator
    if name == "torch" and sys.modules["torch"].cuda.is_available():
        return
    if name != "torch" and not importlib.util.find_spec("torch"):
        return
    try:
        if importlib.util.find_spec("inlay") is None:
            sys.path.append(os.path.dirname(PACKAGE))
        from inlay import _device
    except ImportError as e:
        print(f"inlay run-with: this Python cannot load the package inlay ({e}); {name} stays as it is", file=sys.stderr)
        return
    if emulator is None:
        emulator = _device.Emulator(os.environ["INLAY_HIP_ARCH"], opened=True)
    _device.adapt(name, emulator)


class Adapter:
    """Finds torch, triton and flydsl as they are, and adapts them after their import."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in ("torch", "triton", "flydsl"):
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            adapt(name)

        spec.loader.exec_module = exec_module
        return spec


if "INLAY_HIP_ARCH" in os.environ:
    sys.meta_path.insert(0, Adapter)

# The one of the environment, whose name this file has taken.
own = importlib.machinery.PathFinder.find_spec("sitecustomize", [p for p in sys.path if os.path.abspath(p) != HERE])
if own is not None and own.loader is not None:
    own.loader.exec_module(importlib.util.module_from_spec(own))
