"""`python3 -m inlay.tutorials [FILE...]`: copies files of the tutorials to the current directory; without a name it lists them."""
import os
import shutil
import sys

folder = os.path.dirname(os.path.abspath(__file__))
files = sorted(name for name in os.listdir(folder) if not name.startswith("_"))
for name in sys.argv[1:]:
    if name not in files:
        sys.exit(f"error: there is no file '{name}'\n  hint   {', '.join(files)}")
    if os.path.exists(name):
        sys.exit(f"error: '{name}' is here already")
    shutil.copyfile(os.path.join(folder, name), name)
if not sys.argv[1:]:
    print("\n".join(files))
