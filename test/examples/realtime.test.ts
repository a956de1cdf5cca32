// The README of examples/realtime, as its reader does it: talk, use the sessions of the team up, and talk from a browser.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { temporaryDirectory } from '../support/teardown.ts';
import { blocksIn, exampleOf, inPlaces, openTerminal, type Places, startLocal } from '../support/terminal.ts';
import { waitFor } from '../support/wait-for.ts';

const top = join(import.meta.dirname, '../..');
const readme = readFileSync(join(top, 'examples/realtime/README.md'), 'utf8');
const [start = '', ...commands] = blocksIn(readme, 'sh');
const [, figures = '', refused = ''] = blocksIn(readme, '');
const [inBrowser = ''] = blocksIn(readme, 'js');

await test('a team talks, has used up its sessions, and goes on when one has ended', async (t) => {
  const home = temporaryDirectory(t, 'realtime');
  const { gateway, places } = await startLocal(t, home, {}, exampleOf(start));
  const paste = openTerminal(t, places);
  const [issue = '', talk = '', sound = '', stay = '', look = '', third = '', free = '', revoke = '', ...browser] =
    commands;
  const [mint = '', direct = ''] = browser;
  t.equal(commands.length, 10, 'every command of the README is pasted here');
  await paste(issue);

  t.match(await paste(talk), /You said: “What is a gateway\?”.*\n\(12 tokens read, \d+ said\)\nclosed: 1000\n$/);
  t.match(await paste(sound), /You said: “Hello”/);
  const wav = readFileSync(join(home, 'data/answer.wav'));
  t.match([wav.toString('latin1', 0, 4), wav.readUInt32LE(40)], ['RIFF', wav.length - 44]);
  t.ok(wav.length > 100_000, 'it lasts some seconds');

  await paste(stay);
  const shown = await waitFor('two sessions', async () => {
    const said = await paste(look);
    return said.includes('"in_flight":2') && said;
  });
  const shape = (text: string): string => text.trim().replace(/("minute"\n"tokens_used":)\d+/, '$1…');
  t.equal(shape(shown), shape(figures), 'as the README shows it');
  t.equal((await paste(third)).trim(), refused.trim(), 'as the README shows it');
  t.match(await paste(free), /You said: “And now\?”/);

  const key = (await paste('echo "$REALTIME_KEY"')).trim();
  t.equal(await openInBrowser(key, places), 'session.created');
  await paste(revoke);

  t.match(JSON.parse(await paste(mint)), { value: /^ek_/, session: { model: 'demo-realtime' } });
  t.match(await paste(direct), /You said: “Hello from a browser”/);
  const told = (text: string): number =>
    gateway.stderr.filter((line) => /endpoint=\/v1\/realtime {2}/.test(line) && line.includes(text)).length;
  await waitFor('the session of the revoked key to end', () => told('error_code=key_revoked') > 0);
  t.equal(told('status=101'), 5, 'the one with the secret went past the gateway');
  t.same([told('error_code=rate_limit_exceeded'), told('error_code=key_revoked')], [1, 1]);
});

/** Runs the snippet for pages, in which a key stands, until something is said. Node has the WebSocket of browsers. */
function openInBrowser(key: string, places: Places): Promise<string> {
  const page = [
    `const key = ${JSON.stringify(key)};`,
    inPlaces(inBrowser, places),
    "socket.addEventListener('message', () => socket.close());",
  ].join('\n');
  return new Promise((done, fail) => {
    const options = { timeout: 20_000 };
    execFile(process.execPath, ['--input-type=module', '-e', page], options, (error, stdout) =>
      error ? fail(error) : done(stdout.trim()),
    );
  });
}
