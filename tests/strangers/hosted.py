#!/usr/bin/env python3
"""Hosted C programs that judge themselves or print one number: gcc's torture programs and csmith's, on one work-item.

    hosted.py INLAY --torture FOLDER [--count N] [--first K] [--every M]
    hosted.py INLAY --csmith COUNT [--first SEED]

A program is compiled by clang-22 for gfx942 and gfx950 at -O0 to -O3, which rotate from program to program, together with a
small C library (tests/strangers/device), and once for the host. The emulator has to end as the host's program does: a torture program
neither aborts nor fails, one of csmith's prints the same checksum. All sanitizers must be silent.

Debian has both: `apt-get install csmith libcsmith-dev`, and the torture programs in the package gcc-12-source:

    tar xf /usr/src/gcc-12/gcc-*.tar.xz --wildcards '*/gcc.c-torture/execute/*.c'

Passed over and counted: what clang refuses for either processor (nested functions, setjmp, files), computed goto, what the host's own
program fails at, what takes more than the limit of instructions. Exit status 77, which ctest counts as skipped, when there is nothing to run.
"""
import argparse, glob, json, os, re, shutil, subprocess, sys, tempfile
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
DEVICE = os.path.join(HERE, 'device')
LEVELS = [(p, l) for l in ('-O0', '-O1', '-O2', '-O3') for p in ('gfx942', 'gfx950')]
# gnu99 because a main without `return` returns 0 there, as gcc's own runs of these programs expect; the rest as in C89.
COMMON = ['-std=gnu99', '-fgnu89-inline', '-w', '-Wno-implicit-int', '-Wno-implicit-function-declaration', '-Wno-int-conversion',
          '-Wno-incompatible-pointer-types', '-Wno-return-mismatch', '-fwrapv', '-fno-strict-aliasing', '-ffp-contract=off']
ENDS = {0: 'never began', 1: 'did not end', 2: 'returned 0', 3: 'failed', 4: 'aborted'}

# Programs and compilers that are wrong, argued in docs/measurements/fuzzing.md: the emulator executes what was emitted.
READS_UNWRITTEN = 'the program reads what nothing wrote'
ARGUED = {
    '20031003-1.c': 'converts 2147483648.0 to int, which C leaves undefined',
    '920501-6.c': 'clang -O1 loses the increment of a pointer',
    '920721-1.c': 'clang keeps 16 bits of -32768 / -1',
    'bitfld-1.c': 'clang divides a negative number as if it had 7 bits',
    'pr61306-1.c': 'clang permutes bytes where one is extended by its sign',
    'printf-1.c': 'the library here counts no characters',
    'stdarg-3.c': 'copies the padding of a structure to global memory',
    '921202-1.c': READS_UNWRITTEN,
    'pr33870-1.c': READS_UNWRITTEN,
    'pr34099-2.c': READS_UNWRITTEN,
}


def run(command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, errors='replace', **more)


def device_flags(processor, level):
    return ['-target', 'amdgcn-amd-amdhsa', '-mcpu=' + processor, level, '-nogpulib', '-fno-builtin', '-nostdlibinc']


def host_answer(options, source, level, folder):
    """(status, checksum), or None when the host has no answer."""
    # Without builtins, as on the device: 20021127-1.c has an llabs of its own that aborts.
    made = run([options.clang, level, '-fno-builtin', *COMMON, *options.include, source, '-o', 'host', '-lm'], cwd=folder)
    if made.returncode != 0:
        return None
    try:
        ran = run(['./host'], cwd=folder, timeout=10)
    except subprocess.TimeoutExpired:
        return None
    if ran.returncode != 0:
        return None
    found = re.search(r'checksum = ([0-9A-F]+)', ran.stdout)
    return 2, int(found[1], 16) if found else None


def judge(options, number, name, source, folder):
    """(outcome, message): outcome is 'same', 'wrong', or why the program was passed over."""
    processor, level = LEVELS[number % len(LEVELS)]
    title = '%s %s %s' % (name, processor, level)
    library = os.path.join(options.libraries, processor + '.bc')
    with open(source, errors='replace') as f:
        if re.search(r'goto\s*\*', f.read()):
            return 'with computed goto', title  # clang 22 drops the jump: docs/measurements/fuzzing.md
    made = run([options.clang, *device_flags(processor, level), *COMMON, '-isystem', DEVICE, *options.include, '-include',
                os.path.join(DEVICE, 'kernel.h'), '-Xclang', '-mlink-builtin-bitcode', '-Xclang', library, source, '-o', 'device.hsaco'], cwd=folder)
    if made.returncode != 0:
        return 'refused by clang', title
    right = host_answer(options, source, level, folder)
    if right is None:
        return 'no answer on the host', title
    try:
        ran = run([options.inlay, 'exec', 'device.hsaco', '--kernel', 'inlay_run', '--block', '1', '--stack', '131072', '--json',
                   '--max-instructions', str(options.limit), '--arg', 'inout:zero.bin:out.bin'], cwd=folder, timeout=600)
        answer = json.loads(ran.stdout)
    except (ValueError, subprocess.TimeoutExpired) as e:
        return 'wrong', '%s: no answer: %s' % (title, e)
    if 'error' in answer:
        if 'without ending' in str(answer['error']):
            return 'too long', title
        return 'wrong', '%s: %s' % (title, answer['error'])
    status, checksum = (int.from_bytes(open(os.path.join(folder, 'out.bin'), 'rb').read()[k:k + 4], 'little') for k in (0, 4))
    problems = []
    if status != right[0]:
        problems.append('it ' + ENDS.get(status, 'ended as %d' % status))
    if right[1] is not None and checksum != right[1]:
        problems.append('checksum %X, right is %X' % (checksum, right[1]))
    problems += ['%s: %s at %x %s' % (f['kind'], f['message'], f['address'], f['disassembly']) for f in answer['findings']
                 if not (f['note'] and f['kind'] == 'align')]  # compilers read LDS where it suits them
    if problems and name in ARGUED:
        return 'argued', title
    return ('wrong', '%s: %s' % (title, '; '.join(problems))) if problems else ('same', title)


def one(options, number, name):
    folder = tempfile.mkdtemp(prefix='hosted-')
    try:
        with open(os.path.join(folder, 'zero.bin'), 'wb') as f:
            f.write(bytes(8))
        source = name
        if options.csmith:
            source = os.path.join(folder, 'p.c')
            made = run(['csmith', '--seed', name, '--output', source, '--max-array-len-per-dim', '5', '--max-funcs', '6'], cwd=folder)
            if made.returncode != 0:
                return 'csmith failed', name
        outcome = judge(options, number, os.path.basename(name), source, folder)
        if outcome[0] == 'wrong' and options.keep:
            shutil.copytree(folder, os.path.join(options.keep, os.path.basename(name)), dirs_exist_ok=True)
        return outcome
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('inlay')
    parser.add_argument('--torture', help='a folder of programs; $INLAY_TORTURE otherwise', default=os.environ.get('INLAY_TORTURE'))
    parser.add_argument('--csmith', type=int, default=0, help='how many')
    parser.add_argument('--count', type=int, default=1 << 30)
    parser.add_argument('--first', type=int, default=1, help='seed, or number of the first program')
    parser.add_argument('--every', type=int, default=1, help='only every so-manyth program')
    parser.add_argument('--limit', type=int, default=5_000_000, help='wave instructions')
    parser.add_argument('--keep', help='where wrong programs go')
    parser.add_argument('--jobs', type=int, default=2)
    options = parser.parse_args()
    options.inlay = os.path.abspath(options.inlay)
    options.clang = shutil.which('clang-22')
    options.include = []
    if options.clang is None:
        print('skipped: clang-22 is not here (Debian package clang-22)')
        return 77
    if options.csmith:
        headers = glob.glob('/usr/include/csmith*')
        if shutil.which('csmith') is None or not headers:
            print('skipped: csmith is not here (Debian packages csmith and libcsmith-dev)')
            return 77
        options.include = ['-I', headers[0]]
        names = [str(seed) for seed in range(options.first, options.first + options.csmith)]
    else:
        names = sorted(os.path.abspath(p) for p in glob.glob(os.path.join(options.torture or '', '*.c')))[options.first - 1::options.every][:options.count]
        if not options.torture or not names:
            print('skipped: no torture programs here; the top of this file says where Debian has them')
            return 77
    options.libraries = tempfile.mkdtemp(prefix='hosted-library-')
    counts, wrong = {}, 0
    try:
        for processor in ('gfx942', 'gfx950'):
            subprocess.run([options.clang, *device_flags(processor, '-O1'), '-w', '-emit-llvm', '-c', os.path.join(DEVICE, 'library.c'), '-o',
                            os.path.join(options.libraries, processor + '.bc')], check=True)
        with ThreadPoolExecutor(options.jobs) as pool:
            for outcome, message in pool.map(lambda p: one(options, *p), enumerate(names)):
                counts[outcome] = counts.get(outcome, 0) + 1
                if outcome == 'wrong':
                    wrong += 1
                    print(message[:1500], flush=True)
                if sum(counts.values()) % 100 == 0:
                    print('%d so far: %s' % (sum(counts.values()), counts), flush=True)
    finally:
        shutil.rmtree(options.libraries, ignore_errors=True)
    print('%d programs: %s' % (len(names), ', '.join('%d %s' % (n, what) for what, n in sorted(counts.items(), key=lambda x: -x[1]))))
    return 1 if wrong or not counts.get('same') else 0


if __name__ == '__main__':
    sys.exit(main())
