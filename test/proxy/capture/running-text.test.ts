// Texts that are copied out of their events say what the events said.
import { test } from 'tap';
import { compactEvents } from '../../../proxy/capture/compact-events.ts';
import { runningBehind } from '../../../proxy/capture/running-text.ts';
import { begun, ended, piece, streams, text } from './chat-streams.ts';

const bytes = (stream: string): Buffer => Buffer.from(stream, 'utf8');
const eventsOf = (stream: string): readonly string[] => stream.split(/(?<=\n\n)/);

/** What is made of a stream whose first events were read, and of how many bytes only the text was copied. */
function taken(first: string, chunks: readonly string[]): { readonly told: string; readonly bytes: number } {
  const read = compactEvents(bytes(first).toString('latin1'));
  const running = runningBehind(read);
  let count = 0;
  let rest = '';
  for (const chunk of chunks.map(bytes)) {
    const more = rest === '' ? (running?.take(chunk) ?? 0) : 0;
    count += more;
    rest += chunk.toString('latin1', more);
  }
  return { told: compactEvents(`${read}${running?.event() ?? ''}${rest}`), bytes: count };
}

await test('they say the same, one event at a time, several, or parts of them', (t) => {
  for (const [claim, said] of Object.entries(streams)) {
    const events = eventsOf(`${said.repeat(3)}${ended}`);
    const [first = '', ...others] = events;
    const expected = compactEvents(bytes(`${begun}${events.join('')}`).toString('latin1'));
    const whole = others.join('');
    const parts = [1, 7, 100, 1000].map((size) => whole.match(new RegExp(`[^]{1,${size}}`, 'gu')) ?? []);
    for (const chunks of [others, [whole], ...parts])
      t.equal(taken(`${begun}${first}`, chunks).told, expected, `${claim}, ${chunks.length} chunks`);
  }
  t.end();
});

await test('of words, whatever they are, only the text is copied', (t) => {
  const words = ['a', ' b', '"', '\\', '\n', 'ü', '', '\u{1f600}', 'x'.repeat(3000)];
  const escaped = text('b').replace('"b"', '"\\u0062"');
  t.equal(taken(`${begun}${text('a')}`, [escaped]).bytes, bytes(escaped).length, 'an escape of four digits');
  const frames = { plain: {}, padded: { obfuscation: 'ab' } };
  for (const [claim, more] of Object.entries(frames)) {
    const events = words.map((content) => text(content).replace(/\}\n\n$/, paddedWith(more)));
    t.equal(taken(`${begun}${events[0]}`, events).bytes, bytes(events.join('')).length, claim);
    t.equal(taken(`${begun}${events[0]}`, [events.join('')]).bytes, bytes(events.join('')).length, `${claim}, at once`);
  }
  t.end();
});

await test('what is no such event is left to be read', (t) => {
  const others = {
    'an end': piece({}, {}, 'stop'),
    'an end with a text': piece({ content: 'b' }, {}, 'stop'),
    'another member': piece({ content: 'b', refusal: 'c' }),
    'half an escape of four digits': text('b').replace('"b"', '"\\u006"'),
    'an escape that JSON does not know': text('b').replace('"b"', '"\\q"'),
    'half an event': text('b').slice(0, -1),
    'letters behind its padding': text('b').replace(/\}\n\n$/, ',"obfuscation":"ab","x":1}\n\n'),
  };
  for (const [claim, event] of Object.entries(others)) t.equal(taken(`${begun}${text('a')}`, [event]).bytes, 0, claim);
  t.equal(runningBehind(''), undefined, 'nothing');
  t.equal(runningBehind(ended), undefined, 'no text');
  t.equal(runningBehind(`${text('a')}data: `), undefined, 'a part of an event');
  t.end();
});

function paddedWith({ obfuscation }: { readonly obfuscation?: string }): string {
  return obfuscation === undefined ? '}\n\n' : `,"obfuscation":"${obfuscation}"}\n\n`;
}
