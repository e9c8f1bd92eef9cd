#!python
"""The command `inlay` of an environment: starts the program of the package, which is not imported for it."""
import importlib.util
import os
import sys

package = importlib.util.find_spec("inlay").submodule_search_locations[0]
program = os.path.join(package, "bin", "inlay")
os.execv(program, [program, *sys.argv[1:]])
