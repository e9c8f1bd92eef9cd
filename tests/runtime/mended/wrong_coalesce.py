"""An implementation for `inlay fuzz coalesce --against`: `wrong` answers the right size and another layout, without values;
`silent` the right answer without its size. It asks the inlay that $INLAY names."""
import json, os, subprocess, sys

right = subprocess.Popen([os.environ['INLAY'], 'eval', '--jsonl'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, universal_newlines=True, bufsize=1)
for line in sys.stdin:
    right.stdin.write(line)
    right.stdin.flush()
    answer = json.loads(right.stdout.readline())
    if sys.argv[1] == 'silent':
        answer.pop('size', None)
    elif 'size' in answer:
        answer = {'id': answer['id'], 'result': '%d:17' % answer['size'], 'size': answer['size']}
    print(json.dumps(answer), flush=True)
