#!/usr/bin/env python3
"""Wait states and counters as LLVM's code generator knows them, against the emulator's.

    compiler.py INLAY hazards [--arch gfx942] [--sample N --seed S] [--show N]
    compiler.py INLAY counters [--arch gfx942]

hazards: of every two instructions of forms.py, and of every way in which a register of the first can be one of the second (the same,
a part of it, written and read, read and written, written twice), `llc -start-before=post-RA-hazard-rec` is asked how many wait states
must lie between, and `inlay exec --check hazard` has to say something at one less and nothing at that many. What differs and is meant
to is in ARGUED, with its reason; docs/measurements/emulator.md has the same list. Exit code 1 when anything else differs, 77 without llc-22.

counters: between a load and its use stands an instruction that may be counted, and `llc -start-before=si-insert-waitcnts` inserts the wait that
the use needs. `inlay exec --check waits` has to say nothing at that wait; where it is content with less, that is argued likewise.
"""
import argparse, json, os, random, re, shutil, subprocess, sys, tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from forms import FORMS, fill, operands

LLC = shutil.which('llc-22')


def argued(case, first, second, need, ours):
    """Why the two may differ here, or None. `need`: LLVM's wait states; `ours`: what the emulator said."""
    if 'buffer_' in first and 'store of more than 64 bits' in ours and need == 0:
        return "an offset in a register: one state, measured by LLVM's pull request 197267, which 22.1 does not have"
    loads = re.match(r'(global|flat|buffer|scratch|tbuffer|ds)_', first) is not None
    if loads and 'dpp' in second and need and ours.startswith('silent'):
        return 'a load is waited for before its result is read: no rule of the manual is about it'
    if 'dpp' in second and need == 2 and '=d0' in case[2] and ours.startswith('silent'):
        return "DPP's own destination is an operand of the machine IR; the manual's rule is about what it reads from other lanes"
    packed = re.match(r'v_(pk_|dot\d+_|fma_mixlo)', first) is not None
    if packed and need == 1 and ours.startswith('silent'):
        return "LLVM takes op_sel_hi of a packed instruction's first source for a half of the destination: it writes the whole register"
    if case[1] in ('v_sdwa_word', 'v_opsel_low', 'v_opsel_high') and 'is overwritten' in ours:
        return 'it keeps a part of its destination, and so reads it; the machine IR does not say so'
    return None


def places(first, second):
    """Every way in which the two share registers: (what is shared, first's places, second's)."""
    a, b = operands(FORMS[first][0]), operands(FORMS[second][0])

    def apart(ops, base):
        out, at = {}, dict(base)
        for name, letter, width in ops:
            step = 4 if letter == 's' else 2
            at[letter] = (at[letter] + step - 1) // step * step
            out[name] = at[letter]
            at[letter] += max(width, step)
        return out, at

    mine, behind = apart(a, {'v': 4, 'a': 4, 's': 8})
    # Far enough that an operand moved to the first's registers meets none of its own.
    theirs, _ = apart(b, {letter: (at + 3) // 4 * 4 + (8 if letter == 's' else 36) for letter, at in behind.items()})
    yield 'nothing', mine, theirs
    for n1, l1, w1 in a:
        for n2, l2, w2 in b:
            if l1 != l2 or (n1[0] == 'u' and n2[0] == 'u'):
                continue
            align = (1 if w2 == 1 else 4 if l2 == 's' and w2 == 4 else 2)
            partly = {w1 - 1, 1 - w2} if 'mfma' in first + second or 'smfmac' in first + second else {(w1 - 1) // 2 * 2}
            for shift in sorted({0} | partly):
                base = mine[n1] + shift
                if base % align or base < (8 if l2 == 's' else 2) or not -w2 < shift < w1:
                    continue
                yield '%s=%s%+d' % (n1, n2, shift), mine, {**theirs, n2: base}


def ask_compiler(cases, arch):
    """Assembly of both instructions and the wait states between, of each case."""
    with tempfile.NamedTemporaryFile('w', suffix='.mir', delete=False) as f:
        for k, (first, second, _, mine, theirs) in enumerate(cases):
            f.write('---\nname: f%d\nbody: |\n  bb.0:\n    %s\n    %s\n    S_ENDPGM 0\n...\n'
                    % (k, fill(FORMS[first][0], mine), fill(FORMS[second][0], theirs)))
    ran = subprocess.run([LLC, '-mtriple=amdgcn-amd-amdhsa', '-mcpu=' + arch, '-mattr=-xnack', '-verify-machineinstrs=0',
                          '-start-before=post-RA-hazard-rec', f.name, '-o', '-'], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, universal_newlines=True)
    os.unlink(f.name)
    if ran.returncode:
        sys.exit('llc: ' + ran.stderr[:2000])
    out, now = [], None
    for line in ran.stdout.split('\n'):
        if re.match(r'f\d+:', line):
            now = []
        elif now is not None and line.startswith('\t') and line[1] not in '.;':
            text = line.strip().split(';')[0].strip()
            if text.startswith('s_endpgm'):
                nops = sum(int(t.split()[1]) + 1 for t in now if t.startswith('s_nop'))
                rest = [t for t in now if not t.startswith('s_nop')]
                assert len(rest) == 2, now
                out.append((rest[0], nops, rest[1]))
                now = None
            else:
                now.append(text)
    assert len(out) == len(cases), (len(out), len(cases))
    return out


KERNEL = '''.amdgcn_target "amdgcn-amd-amdhsa--%s"
.text
.globl k
.p2align 8
.type k,@function
k:
%s
s_endpgm
.rodata
.p2align 6
.amdhsa_kernel k
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_group_segment_fixed_size 4096
  .amdhsa_private_segment_fixed_size 64
  .amdhsa_next_free_vgpr 512
  .amdhsa_next_free_sgpr 96
  .amdhsa_accum_offset 256
.end_amdhsa_kernel
'''


def nops(count):
    return ['s_nop %d' % (min(16, count - k) - 1) for k in range(0, count, 16)]


def run(inlay, arch, lines, checks):
    """Findings of a kernel of these lines, by line."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'k.s')
        with open(path, 'w') as f:
            f.write(KERNEL % (arch, '\n'.join(lines)))
        ran = subprocess.run([inlay, 'exec', path, '--block', '64', '--arch', arch, '--check', checks, '--json', '--limit', '0'],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    try:
        result = json.loads(ran.stdout)
    except ValueError:
        sys.exit('inlay: ' + ran.stdout[:500] + ran.stderr[:2000])
    if 'error' in result:
        sys.exit('inlay: ' + result['error'])
    found = {}
    for f in result['findings']:
        found.setdefault((f['source']['line'] if 'source' in f else None, f['kind']), f['message'])
    return found


def hazards(inlay, arch, options):
    names = [n for n, (_, archs) in FORMS.items() if arch in archs]
    cases = [(a, b) + p for a in names for b in names for p in places(a, b)]
    if options.sample:
        cases = random.Random(options.seed).sample(cases, min(options.sample, len(cases)))
    differ, counted, needing = [], 0, 0
    for begin in range(0, len(cases), 6000):
        batch = cases[begin:begin + 6000]
        answers = ask_compiler(batch, arch)
        head = len((KERNEL % (arch, 'X')).split('X')[0].split('\n'))
        lines, at = [], []
        for first, need, second in answers:
            # Nothing of the case before matters: the longest rule reaches 20 wait states.
            for states in ([need - 1, need] if need else [0]):
                lines += ['s_mov_b64 exec, -1', 's_mov_b32 m0, 0', 's_nop 15', 's_nop 11', first] + nops(states) + [second]
                at.append(head + len(lines) - 1)
        found = run(inlay, arch, lines, 'hazard,bounds')
        at.reverse()
        for case, (first, need, second) in zip(batch, answers):
            counted += 1
            needing += need != 0
            early = found.get((at.pop(), 'hazard')) if need else 'none needed'
            late = found.get((at.pop(), 'hazard'))
            if early is not None and late is None:
                continue
            ours = 'silent at %d' % (need - 1) if early is None else late
            why = argued(case, first, second, need, ours)
            if why is None:
                differ.append((case[0], case[1], case[2], first, second, need, ours))
    print('%s: %d pairs, %d need wait states, %d differ' % (arch, counted, needing, len(differ)))
    seen = {}
    for d in differ:
        seen.setdefault(d[:2] + (d[5],), []).append(d)
    for (a, b, need), group in list(seen.items())[:options.show]:
        d = group[0]
        print('  %s -> %s (%s, %d alike): llc %d, inlay: %s\n      %s\n      %s' % (a, b, d[2], len(group), need, d[6], d[3], d[4]))
    return not differ


COUNTED = ('global_store_x1 flat_store_x1 buffer_store_x1 scratch_store_x4 buffer_format_xyzw tbuffer_xyz global_cmpswap_x2 global_cmpswap_x2_rtn '
           'flat_cmpswap_x2 buffer_cmpswap_x2 global_atomic_add global_load global_load_d16 buffer_load buffer_load_lds global_load_lds flat_load '
           'scratch_load tbuffer_load buffer_wbl2 buffer_inv buffer_wbinvl1 ds_read ds_write ds_write_addtid ds_bpermute ds_swizzle ds_add s_load s_memtime s_dcache_inv s_dcache_wb s_sendmsg v_mov s_mov').split()

# Content with less than LLVM 22.1 waits for.
LESS = {('buffer_wbl2', 'vm'): "vmcnt counts it: LLVM's pull request 178316",
        ('buffer_inv', 'vm'): "vmcnt counts it: LLVM's pull request 220694"}
# Not content with what LLVM 22.1 is content with.
MORE = {('global_load_lds', 'lgkm'): 'vmcnt alone counts loads to LDS (CDNA3 ISA, "Data Dependency Resolution"); to LLVM 22.1 lgkmcnt counts this one, too'}
UNORDERED = 'lgkmcnt(1) with two LDS reads, the newer of them after the other: one of them is done, whatever else is under way'


def counters(inlay, arch, options):
    """LLVM's waits against those that the emulator is content with."""
    load = {'vm': ['$vgpr2 = GLOBAL_LOAD_DWORD_SADDR $sgpr4_sgpr5, $vgpr1, 0, 0, implicit $exec'],
            'lgkm': ['$vgpr2 = DS_READ_B32_gfx9 $vgpr1, 0, 0, implicit $exec', '$vgpr4 = DS_READ_B32_gfx9 $vgpr1, 4, 0, implicit $exec']}
    differ, asked = [], 0
    for name in COUNTED:
        text, archs = FORMS[name]
        if arch not in archs:
            continue
        place, at = {}, {'v': 8, 'a': 8, 's': 8}
        for operand, letter, width in operands(text):
            place[operand] = at[letter]
            at[letter] += (width + 3) // 4 * 4
        for counter, first in load.items():
            lines = first + [fill(text, place), '$vgpr3 = V_MOV_B32_e32 $vgpr2, implicit $exec', 'S_ENDPGM 0']
            mir = '---\nname: f\nbody: |\n  bb.0:\n' + ''.join('    %s\n' % l for l in lines) + '...\n'
            ran = subprocess.run([LLC, '-x', 'mir', '-mtriple=amdgcn-amd-amdhsa', '-mcpu=' + arch, '-verify-machineinstrs=0',
                                  '-start-before=si-insert-waitcnts', '-stop-before=post-RA-hazard-rec', '-', '-o', '-'],
                                 input=mir, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
            waits = [int(w) for w in re.findall(r'S_WAITCNT (\d+)', ran.stdout)]
            # Bits 3:0 and 15:14 of vmcnt, 11:8 of lgkmcnt; the first wait is the function's own.
            wait = waits[-1]
            vm, lgkm = (wait & 15) | (wait >> 10 & 48), wait >> 8 & 15
            theirs = vm if counter == 'vm' else lgkm
            asm = [line.strip().split(';')[0].strip() for line in subprocess.run(
                [LLC, '-x', 'mir', '-mtriple=amdgcn-amd-amdhsa', '-mcpu=' + arch, '-verify-machineinstrs=0', '-start-before=post-RA-hazard-rec', '-', '-o', '-'],
                input=mir, stdout=subprocess.PIPE, universal_newlines=True).stdout.split('\n') if re.match(r'\t[a-z]', line)]
            asm = [l for l in asm if not l.startswith('s_endpgm') and not l.startswith('s_nop')]
            ours = None
            for most in (2, 1, 0):
                program = ['s_mov_b32 m0, 0', 'v_mov_b32 v1, 0'] + asm[:-1] + ['s_waitcnt %scnt(%d)' % (counter, most)] + [asm[-1]]
                found = run(inlay, arch, program, 'waits,bounds')
                at_use = len((KERNEL % (arch, 'X')).split('X')[0].split('\n')) + len(program) - 1
                if (at_use, 'waits') not in found:
                    ours = most
                    break
            asked += 1
            why = LESS.get((name, counter)) or (UNORDERED if counter == 'lgkm' and ours == 1 and theirs == 0 else None)
            if ours is not None and ours < theirs and (name, counter) in MORE:
                continue
            if ours is None or ours < theirs or (ours > theirs and why is None):
                differ.append('%s after %s: llc %scnt(%d), inlay content with %s' % (name, counter, counter, theirs, ours))
    print('%s: %d questions about counters, %d differ' % (arch, asked, len(differ)))
    for d in differ:
        print('  ' + d)
    return not differ


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('inlay')
    parser.add_argument('what', choices=['hazards', 'counters'])
    parser.add_argument('--arch', action='append')
    parser.add_argument('--sample', type=int, default=0)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--show', type=int, default=40)
    options = parser.parse_args()
    if LLC is None:
        print('llc-22 is not here: nothing is compared')
        return 77
    good = True
    for arch in options.arch or ['gfx942', 'gfx950', 'gfx90a']:
        good = globals()[options.what](options.inlay, arch, options) and good
    return 0 if good else 1


sys.exit(main())
