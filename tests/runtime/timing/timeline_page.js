// The page that `inlay time --html` writes, in a document that only remembers: timeline_page.js PAGE
// Colours by cause, the wheel zooms at the pointer, dragging moves, a double click shows all, the pointer names cause and instruction.
const fs = require('fs'), assert = require('assert');
const page = fs.readFileSync(process.argv[2], 'utf8');
assert(!/https?:|src=|@import|<link/.test(page), 'the page needs nothing from elsewhere');
let drawn = [];
let framed = null;
const canvas = {strokeRect: (x, y, w, h) => framed = {x, y, w, h}, fillRect: (x, y, w, h) => drawn.push({x, y, w, h, colour: canvas.fillStyle}), fillText() {}};
const element = () => ({style: {}, clientWidth: 1200, append() {}, getContext: () => canvas});
const parts = {c: element(), tip: element(), title: element(), legend: element(), about: element()};
global.document = {getElementById: name => parts[name], createElement: element};
global.window = {innerWidth: 1300};
const script = page.match(/<script>([\s\S]*)<\/script>/)[1].replace('const D', 'var D').replace('let from', 'var from');
(0, eval)(script);
const {c, tip} = parts, wide = to - from;
assert(drawn.length > D.lanes.length, 'every wave has a lane with segments');
assert(new Set(drawn.map(r => r.colour)).size > 4, 'causes have colours of their own');
const clock = x => from + (x - 150) / (c.width - 150) * (to - from), under = clock(600);
for (let i = 0; i < 8; ++i) c.onwheel({preventDefault() {}, offsetX: 600, deltaY: -1});
assert(to - from < wide / 5, 'the wheel zooms');
assert(Math.abs(clock(600) - under) < 1, 'and the clock under the pointer stays there');
// Each lane in turn: what the pointer is told is the segment at its clock.
D.lanes.forEach((lane, k) => {
  c.onmousemove({offsetX: 600, offsetY: 25 + 18 * k, clientX: 10, clientY: 10});
  const S = lane.segments, t = clock(600);
  let i = 0;
  while (4 * i < S.length && S[4 * i] + S[4 * i + 1] <= t) ++i;
  assert.strictEqual(tip.style.display, 'block');
  assert.strictEqual(tip.textContent, `${D.causes[S[4 * i + 2]]}, clocks ${S[4 * i]} to ${S[4 * i] + S[4 * i + 1]}\n${D.texts[S[4 * i + 3]]}`);
});
const before = from;
c.onmousedown({offsetX: 600});
c.onmousemove({offsetX: 500, offsetY: 25, clientX: 1, clientY: 1});
window.onmouseup();
assert(from > before, 'dragging to the left shows later clocks');
c.ondblclick();
assert.deepStrictEqual([from, to], [D.begin, D.end], 'a double click shows all');
// By keyboard: the arrows go through all segments of a lane in order, and from lane to lane; what is said is what is framed.
const key = k => c.onkeydown({key: k, preventDefault() {}});
D.lanes.forEach((lane, k) => {
  if (k > 0) key('ArrowDown');
  for (let i = 0; i < lane.segments.length / 4 + 2; ++i) key('ArrowLeft');
  for (let i = 0; 4 * i < lane.segments.length; ++i) {
    if (i > 0) key('ArrowRight');
    const S = lane.segments;
    assert.strictEqual(parts.about.textContent, `${lane.name}: ${D.causes[S[4 * i + 2]]}, clocks ${S[4 * i]} to ${S[4 * i] + S[4 * i + 1]}\n${D.texts[S[4 * i + 3]]}`);
    assert(Math.abs(clock(framed.x) - S[4 * i]) < 1 && framed.y === 20 + 18 * k);
  }
});
key('+');
assert(to - from < D.end - D.begin, '+ zooms');
key('Home');
assert.deepStrictEqual([from, to], [D.begin, D.end], 'Home shows all');
assert(/prefers-color-scheme: dark/.test(page), 'it is dark where the reader wants that');
console.log(`${D.lanes.length} lanes, ${D.texts.length} instructions`);
