"""The recipes of packaging/ against what they stand on: they name what is there, and say what the project's own files say.

    python3 recipes.py SOURCE
"""
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(sys.argv[1])
read = lambda name: (SOURCE / name).read_text()


def instructions(text):
    """(instruction, arguments) of a Dockerfile."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [line.split(" ", 1) for line in lines]


def dockerfile():
    steps = instructions(read("packaging/Dockerfile"))
    assert {name for name, _ in steps} <= {"FROM", "SHELL", "WORKDIR", "COPY", "RUN", "ENV", "ENTRYPOINT", "CMD"}, steps
    images = [text.split()[0] for name, text in steps if name == "FROM"]
    # The Debian that README and the packages' list are for.
    assert images == ["debian:12", "debian:12-slim"] and "Debian 12" in read("README.md"), images
    assert "Debian 12 packages" in read(".ci/packages.sh")
    run = [text for name, text in steps if name == "RUN"]
    for command in run:
        subprocess.run(["bash", "-n", "-c", command], check=True)
    # What installs packages is the project's own function and list, under the shell options that they are written for.
    assert run[0].startswith('. .ci/packages.sh && ensure_packages "${packages_build[@]}"'), run[0]
    known = subprocess.run(["bash", "-euo", "pipefail", "-c", '. .ci/packages.sh; printf "%s\\n" "${packages_build[@]}"; type -t ensure_packages'],
                           cwd=SOURCE, check=True, capture_output=True, text=True).stdout.split()
    assert known[-1] == "function" and "cmake" in known
    assert 'SHELL ["/bin/bash", "-euo", "pipefail", "-c"]' in read("packaging/Dockerfile")
    # The wheel is built as docs/python.md builds it, and lies where it says.
    wheel = re.search(r"^    (python/wheel) +# dist/inlay-", read("docs/python.md"), re.M).group(1)
    assert run[1] == wheel and (SOURCE / wheel).stat().st_mode & 0o100
    assert ["COPY", "--from=build /inlay/dist/inlay-*.whl /tmp/"] in steps and "pip install dist/inlay-*.whl" in read("docs/python.md")
    assert "/tmp/inlay-*.whl" in run[3] and "python3-venv" in run[2]
    # The command that the container begins with is one that the wheel installs.
    assert ["ENTRYPOINT", '["inlay"]'] in steps and "RENAME inlay)" in read("python/CMakeLists.txt")


def conda():
    recipe = read("packaging/conda/recipe.yaml")
    field = lambda name: re.search(rf"^ +{name}: (.*)$", recipe, re.M).group(1)
    version = re.search(r"project\(inlay VERSION ([0-9.]+)", read("CMakeLists.txt")).group(1)
    assert re.search(r"^context:\n  version: (.*)$", recipe, re.M).group(1) == version
    project = read("pyproject.toml")
    assert field("license") in project and field("summary") in project
    # Of the wheel: its folder, what it asks for, and the C library by its tag.
    assert field("path") == "../../dist" and "dist/inlay-" in read("docs/python.md")
    asked = re.search(r'dependencies = \[(.*)\]', project).group(1)
    run = re.search(r"^  run:\n((?:    - .*\n)+)", recipe, re.M).group(1)
    assert all(f"- {name.strip().strip(chr(34))}\n" in run for name in asked.split(",")), (asked, run)
    assert re.search(r"__glibc >=(\d+)\.(\d+)", run).groups() == re.search(r"manylinux_(\d+)_(\d+)_x86_64", read("docs/python.md")).groups()
    try:
        import rattler_build
    except ImportError:
        print("no rattler-build: the recipe was not rendered")
        return
    (one,) = rattler_build.Stage0Recipe.from_yaml(recipe).render()
    assert one.recipe.package.version == version


def workflow():
    text, plugin, command = read("packaging/kernels.yml"), read("python/pytest_inlay.py"), read("cli/run_with.cpp")
    options = re.findall(r"pytest (.*)", text)[-1].split()
    assert "--inlay" in options and all(f'"{o}"' in plugin for o in options if o.startswith("--inlay")), options
    given = re.search(r"inlay run-with (.*) -- ", text).group(1).split()
    assert given and all(f"{o}" in command for o in given if o.startswith("--")), given
    try:
        import yaml
    except ImportError:
        return
    steps = yaml.safe_load(text)["jobs"]["emulator"]["steps"]
    assert all(("uses" in step) != ("run" in step) for step in steps)


dockerfile()
conda()
workflow()
print("Dockerfile, recipe and workflow agree with the project's files")
