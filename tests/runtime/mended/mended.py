#!/usr/bin/env python3
"""Runs every program of this folder, each a defect that the emulator once had, and judges what comes out.

    mended.py INLAY [NAME...]

A program says in comments at its top how it is run and what is right:

    ; run OPTIONS              of `inlay exec`; in:BYTES and out:BYTES stand for files
    ; out WORD...              the first words of the first output, in hexadecimal
    ; finds KIND TEXT          a finding of this kind at an instruction that contains TEXT; without such a line: none
    ; note KIND TEXT           a note likewise; other notes are allowed, but for `quiet KIND`
    ; says TEXT                one of the findings says this
    ; stress differs           --stress must see it, too; without: must not
    ; fails TEXT               the launch ends in an error that says this
    // clang -O0 -O2           a C program: compiled so, when clang-22 is there; its assembly lies beside it in any case

What is no program but a command, a verdict for instance, stands in commands.txt.

Exit code 1 and one line for each program or command that went wrong.
"""
import json, os, resource, shlex, shutil, struct, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def directives(path):
    for line in open(path):
        words = line.split()
        if not words or words[0] not in (';', '//'):
            return
        yield words[1:]


def judge(inlay, path, name, folder):
    """None, or what is wrong."""
    options, want, finds, notes, says, quiet, differs, fails = [], [], [], [], [], set(), False, None
    for words in directives(path):
        if words[:1] == ['run']:
            options = words[1:]
        elif words[:1] == ['out']:
            want = [int(w, 16) for w in words[1:]]
        elif words[:1] in (['finds'], ['note']):
            (finds if words[0] == 'finds' else notes).append((words[1], ' '.join(words[2:])))
        elif words[:1] == ['quiet']:
            quiet.add(words[1])
        elif words[:1] == ['says']:
            says.append(' '.join(words[1:]))
        elif words[:2] == ['stress', 'differs']:
            differs = True
        elif words[:1] == ['fails']:
            fails = ' '.join(words[1:])
    first = None
    for i, text in enumerate(options):
        kind, _, rest = text.partition(':')
        file = os.path.join(folder, 'buffer%d' % i)
        if kind == 'in':
            with open(file, 'wb') as f:
                f.write(struct.pack('%di' % (int(rest) // 4), *[(n * 7) % 11 - 3 for n in range(int(rest) // 4)]))
            options[i] = 'in:' + file
        elif kind == 'out':
            first = first or file
            options[i] = 'out:%s:%s' % (rest, file)
    if '--block' not in options:  # one wave, also of those that allow more
        options = options + ['--block', '64']
    ran = subprocess.run([inlay, 'exec', name, '--json'] + options, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         universal_newlines=True, timeout=120)
    try:
        result = json.loads(ran.stdout)
    except ValueError:
        return 'no answer: ' + (ran.stderr or ran.stdout).strip()
    if fails and fails not in ' '.join(result.get('error', 'no error').split()):
        return 'the error is not %r: %s' % (fails, result.get('error'))
    if 'error' in result and not fails:
        return result['error']
    if want:
        got = struct.unpack('%dI' % len(want), open(first, 'rb').read(4 * len(want)))
        if list(got) != want:
            return 'wrong words: ' + ' '.join('%x' % w for w in got)
    for finding in result['findings']:
        expected = notes if finding['note'] else finds
        here = [e for e in expected if e[0] == finding['kind'] and e[1] in finding['disassembly']]
        for e in here:
            expected.remove(e)
        if not here and (not finding['note'] or finding['kind'] in quiet):
            return 'unexpected: %s: %s at %s' % (finding['kind'], finding['message'], finding['disassembly'])
    for text in says:
        if not any(text in finding['message'] for finding in result['findings']):
            return 'no finding says ' + text
    if finds or notes:
        return 'not found: ' + str(finds + notes)
    stress = result.get('stress', {'same': True, 'difference': ''})
    if stress['same'] == differs:
        return 'stress: ' + (stress['difference'] or 'saw no difference')
    return None


def commands(inlay, folder):
    """The lines of commands.txt that went wrong, and how many there are."""
    wrong, total = [], 0
    for line in open(os.path.join(HERE, 'commands.txt')):
        if line.startswith('#'):
            continue
        status, says, arguments = line.strip().split(' | ', 2)
        words = shlex.split(arguments.replace('HERE', HERE).replace('TEMPORARY', folder))
        total += 1
        try:
            ran = subprocess.run([inlay] + words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, timeout=120,
                                 env=dict(os.environ, INLAY=inlay),
                                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30)))
        except subprocess.TimeoutExpired:
            wrong.append('%s: no end' % arguments)
            continue
        if ran.returncode != int(status) or says not in ' '.join(ran.stdout.split()):
            wrong.append('%s: exit status %d: %s' % (arguments, ran.returncode, ran.stdout.strip()[:300]))
    return wrong, total


def main():
    inlay, wanted = os.path.abspath(sys.argv[1]), set(sys.argv[2:])
    clang = shutil.which('clang-22')
    if clang is None:
        print('clang-22 is not here: the C programs run as the assembly beside them only')
    failed = total = 0
    with tempfile.TemporaryDirectory() as folder:
        for file in sorted(os.listdir(HERE)):
            name, extension = os.path.splitext(file)
            path = os.path.join(HERE, file)
            if wanted and name not in wanted:
                continue
            runs = []
            if extension == '.s':
                runs = [(file, path)]
            elif extension == '.c' and clang:
                for level in next(words[1:] for words in directives(path) if words[:1] == ['clang']):
                    for processor in ('gfx942', 'gfx950'):
                        object = os.path.join(folder, '%s%s%s.hsaco' % (name, processor, level))
                        subprocess.run([clang, '-target', 'amdgcn-amd-amdhsa', '-nogpulib', '-ffreestanding', '-w',
                                        '-mcpu=' + processor, level, path, '-o', object], check=True)
                        runs.append(('%s %s %s' % (file, processor, level), object))
            for title, program in runs:
                total += 1
                wrong = judge(inlay, path, program, folder)
                if wrong:
                    failed += 1
                    print('%s: %s' % (title, wrong))
        if not wanted or 'commands' in wanted:
            wrong, asked = commands(inlay, folder)
            for message in wrong:
                print(message)
            failed, total = failed + len(wrong), total + asked
    print('%d programs and commands, %d wrong' % (total, failed))
    return 1 if failed or total == 0 else 0


if __name__ == '__main__':
    sys.exit(main())
