// The README of examples/quickstart, as its reader does it: each command is pasted, and the demo provider answers as the README says.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { temporaryDirectory } from '../support/teardown.ts';
import { blocksIn, openTerminal, startLocal } from '../support/terminal.ts';
import { waitFor } from '../support/wait-for.ts';

const readme = readFileSync(join(import.meta.dirname, '../../examples/quickstart/README.md'), 'utf8');
const commands = blocksIn(readme, 'sh').filter((block) => block.includes('curl'));

/** The data of the events of a stream, without its last word. */
const eventsOf = (said: string): unknown[] =>
  [...said.matchAll(/^data: (\{.*\})$/gm)].map(([, data = '']) => JSON.parse(data) as unknown);

await test('every command of the quickstart gets the answer that the README announces', async (t) => {
  const home = temporaryDirectory(t, 'quickstart');
  const { places } = await startLocal(t, home, {});
  const paste = openTerminal(t, places);
  // Without curl's account of its progress.
  await paste(`cd ${home}; curl() { command curl -s "$@"; }`);
  const [stream = '', tool = '', thoughts = '', schema = '', speech = '', picture = '', batch = ''] = commands;
  t.equal(commands.length, 7, 'every command is pasted here');

  t.match(await paste(stream), /^data: \[DONE\]$/m);
  t.match(JSON.parse(await paste(tool)), {
    choices: [{ message: { tool_calls: [{ function: { name: 'get_weather', arguments: /^\{"city":"Paris"\}$/ } }] } }],
  });
  const kinds = eventsOf(await paste(thoughts)).map((event) => (event as { type: string }).type);
  t.ok(kinds.indexOf('response.reasoning_summary_text.delta') < kinds.indexOf('response.output_text.delta'));
  t.equal(kinds.at(-1), 'response.completed');
  const { content } = JSON.parse(await paste(schema)) as { content: { text: string }[] };
  t.same(JSON.parse(content.at(-1)?.text ?? ''), { name: 'Alice', age: 30 });

  t.match(JSON.parse(await paste(speech)), { text: 'What is a gateway?' }, 'what was spoken is heard');
  t.equal(readFileSync(join(home, 'speech.wav')).toString('latin1', 0, 4), 'RIFF');
  await paste(picture);
  const png = readFileSync(join(home, 'picture.png'));
  t.same([png.toString('latin1', 1, 4), png.readUInt32BE(16), png.readUInt32BE(20)], ['PNG', 512, 512]);

  const [submit = '', look = ''] = batch.split('sleep 1\n');
  await paste(submit);
  const line = await waitFor('the results of the batch', async () => {
    const said = (await paste(look)).trim();
    return said.includes('"custom_id"') && said;
  });
  t.match(JSON.parse(line), { custom_id: 'one', response: { status_code: 200, body: { object: 'chat.completion' } } });

  const ask = async (path: string, body: object): Promise<unknown> => {
    const head = '-H "Authorization: Bearer $KEY" -H "Content-Type: application/json"';
    return JSON.parse(await paste(`curl $URL/${path} ${head} -d '${JSON.stringify(body)}'`));
  };
  t.match(await ask('moderations', { model: 'demo-moderation', input: 'What is a gateway?' }), {
    results: [{ flagged: false }],
  });
  t.match(await ask('rerank', { model: 'demo-rerank', query: 'red car', documents: ['a blue bird', 'a red car'] }), {
    results: [{ index: 1 }, { index: 0 }],
  });
  const params = { model: 'demo-messages/demo-large', max_tokens: 9, messages: [{ role: 'user', content: 'Hello' }] };
  t.match(await ask('messages/batches', { requests: [{ custom_id: 'one', params }] }), { type: 'message_batch' });
});
