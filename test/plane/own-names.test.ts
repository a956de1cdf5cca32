// The requests that a gateway without a master key serves: those to a name of this machine, except writes of foreign web pages.
import { test } from 'tap';
import { foreignPart, ownNames } from '../../plane/access/own-names.ts';

const names = ownNames('gateway.test', 'Machine-7');
const reached = { method: 'GET', host: 'localhost:8080', origin: undefined, localAddress: '127.0.0.1' };

await test('this machine is addressed by its own names and by the address the connection came in on', async (t) => {
  const local = { ...reached, localAddress: '::ffff:192.0.2.7' };
  const own = [
    'localhost',
    'LOCALHOST.',
    '127.0.0.1:8080',
    '[::1]:8080',
    'gateway.test',
    'machine-7:1',
    '192.0.2.7:80',
  ];
  for (const host of own) t.equal(foreignPart({ ...local, host }, names), undefined, host);
  t.equal(foreignPart({ ...local, host: undefined }, names), undefined, 'HTTP/1.0 needs no Host');
  t.equal(foreignPart({ ...reached, host: '[2001:db8::1]:80', localAddress: '2001:db8::1' }, names), undefined);
});

await test('any other name is foreign, also one that points here', async (t) => {
  const foreign = [
    'evil.test',
    'localhost.evil.test',
    'evil-localhost',
    '127.0.0.1.evil.test',
    '192.0.2.7',
    '0.0.0.0',
    '',
  ];
  const odd = ['::1', '[::1', 'a@localhost', 'localhost:80:80', 'localhost/'];
  for (const host of [...foreign, ...odd]) t.equal(foreignPart({ ...reached, host }, names), 'host', host);
  const everywhere = ownNames('0.0.0.0', '');
  t.equal(foreignPart({ ...reached, host: '0.0.0.0:8080' }, everywhere), 'host', 'every interface is no name');
});

await test('a page writes to its own origin only, and may read', async (t) => {
  const write = { ...reached, method: 'POST' };
  for (const origin of [undefined, 'http://localhost:8080', 'HTTP://LOCALHOST:8080']) {
    t.equal(foreignPart({ ...write, origin }, names), undefined, String(origin));
  }
  for (const origin of ['http://evil.test', 'http://localhost:8081', 'http://localhost', 'null', '']) {
    t.equal(foreignPart({ ...write, origin }, names), 'origin', origin);
    t.equal(foreignPart({ ...reached, origin }, names), undefined, `reading from ${origin}`);
  }
});
