// Long tokens, as clouds issue them, are found in what providers say, however they are written; and a list of secrets may change.
import { test } from 'tap';
import { redact } from '../../../proxy/dialects/redact.ts';

const token = `IQoJb3JpZ2luX2VjEJ//${'aB3+/x9Qz7'.repeat(90)}kPq7Zt5VwXy2LmN8rS4dF6gH==`;
const json = (text: string): string => JSON.stringify({ error: { message: text, more: [text] } });

await test('a long token is taken out, with all around it that belongs to it', async (t) => {
  const told: readonly (readonly [name: string, text: string])[] = [
    ['as it is', `canonical string: x-amz-date:1\nx-amz-security-token: ${token}\nhost:a`],
    ['in lower case', `token ${token.toLowerCase()} is wrong`],
    ['in JSON', json(`token ${token}, and "${token}"`)],
    ['in JSON within JSON', JSON.stringify(json(token))],
    ['with escaped slashes', json(token).replaceAll('/', '\\/')],
    ['with escapes of characters', json(token).replaceAll('+', '\\u002b')],
    ['in a URL', `https://a/?t=${encodeURIComponent(token)}&b=c`],
    ['in a URL, twice', `https://a/?t=${encodeURIComponent(encodeURIComponent(token))}`],
    ['in HTML', `<p>${token.replaceAll('+', '&#43;').replaceAll('=', '&#x3d;')}</p>`],
    ['in base64', `header ${Buffer.from(`x${token}y`).toString('base64')} end`],
  ];
  for (const [name, text] of told) {
    const clean = redact(text, [token]);
    t.notMatch(clean.toLowerCase(), /ab3|kpq7|iqojb3j|zt5vw/, name);
    t.match(clean, /\[redacted\]/, name);
    if (name.startsWith('in JSON')) t.doesNotThrow(() => JSON.parse(clean) as unknown, name);
  }
  t.equal(redact(json('nothing of it'), [token]), json('nothing of it'));
});

await test('what is added to a list of secrets is taken out from then on', async (t) => {
  const secrets = ['first-secret-0123'];
  t.equal(redact('first-secret-0123 second-secret-4567', secrets), '[redacted] second-secret-4567');
  secrets.splice(0, 1, 'second-secret-4567');
  t.equal(redact('first-secret-0123 second-secret-4567', secrets), 'first-secret-0123 [redacted]');
});

await test('a megabyte of an error takes no long time', async (t) => {
  const many = Array.from({ length: 200 }, (_, index) => `${token.slice(0, 900)}Number${index}of200${'q'.repeat(30)}`);
  const text = `${'='.repeat(500_000)}${many[7]}${'='.repeat(500_000)}`;
  const started = performance.now();
  const clean = redact(text, many);
  t.comment(`${Math.round(performance.now() - started)} ms`);
  t.ok(clean.length < 100, `${clean.length}`);
});
