// Whose address a request counts for behind proxies: what trusted ones say of it, and nothing that a client can make up.
import { test } from 'tap';
import { clientAddressOf, trustedProxies } from '../../plane/access/client-address.ts';
import { startGateway } from '../support/gateway.ts';

const trusted = trustedProxies(['10.0.0.0/8', '192.0.2.7', '2001:db8::/32']);

await test('the address is the last one that no trusted proxy has', async (t) => {
  const cases: [socket: string, forwarded: string[], address: string][] = [
    ['198.51.100.1', ['203.0.113.9'], '198.51.100.1'],
    ['10.1.2.3', [], '10.1.2.3'],
    ['10.1.2.3', ['203.0.113.9'], '203.0.113.9'],
    ['::ffff:10.1.2.3', ['203.0.113.9'], '203.0.113.9'],
    ['2001:db8::1', ['203.0.113.9'], '203.0.113.9'],
    ['192.0.2.8', ['203.0.113.9'], '192.0.2.8'],
    ['10.1.2.3', ['198.51.100.66, 203.0.113.9'], '203.0.113.9'],
    ['10.1.2.3', ['198.51.100.66', '203.0.113.9 , 192.0.2.7'], '203.0.113.9'],
    ['10.1.2.3', ['10.9.9.9, 10.8.8.8'], '10.9.9.9'],
    ['10.1.2.3', ['203.0.113.9:4711'], '203.0.113.9'],
    ['10.1.2.3', ['[2001:db9::5]:443'], '2001:db9::5'],
    ['10.1.2.3', ['2001:db9::5'], '2001:db9::5'],
    ['10.1.2.3', ['203.0.113.9, unknown'], '10.1.2.3'],
    ['10.1.2.3', ['203.0.113.9, unknown, 192.0.2.7'], '192.0.2.7'],
    ['10.1.2.3', [''], '10.1.2.3'],
    ['10.1.2.3', ['203.0.113.9 extra'], '10.1.2.3'],
    ['10.1.2.3', [`203.0.113.9${', 10.0.0.1'.repeat(40)}`], '10.0.0.1'],
  ];
  for (const [socket, lines, address] of cases) {
    const raw = ['Host', 'a', ...lines.flatMap((line) => ['X-Forwarded-For', line])];
    t.equal(clientAddressOf(socket, raw, trusted), address, `${socket} ${lines.join(' | ').slice(0, 60)}`);
  }
  t.equal(clientAddressOf('10.1.2.3', ['x-forwarded-for', '203.0.113.9'], trustedProxies([])), '10.1.2.3');
  t.equal(clientAddressOf(undefined, ['x-forwarded-for', '203.0.113.9'], trusted), undefined);
});

await test('Forwarded is read where there is no X-Forwarded-For', async (t) => {
  const of = (...raw: string[]) => clientAddressOf('10.1.2.3', raw, trusted);
  t.equal(of('Forwarded', 'for=203.0.113.9;proto=https'), '203.0.113.9');
  t.equal(of('Forwarded', 'for=198.51.100.66, proto=https;For="[2001:db9::5]:4711", for=10.0.0.2'), '2001:db9::5');
  t.equal(of('Forwarded', 'for=_hidden, for=10.0.0.2'), '10.0.0.2');
  t.equal(of('Forwarded', 'by=203.0.113.9'), '10.1.2.3');
  t.equal(of('Forwarded', 'for=203.0.113.9', 'X-Forwarded-For', '203.0.113.10'), '203.0.113.10');
});

await test('failed logins count for the client behind a trusted proxy, and trust is hot', async (t) => {
  const gateway = await startGateway(t, { config: { server: { trusted_proxies: ['127.0.0.1', '::1'] } } });
  const fail = async (address: string) => {
    const headers = { authorization: 'Bearer wrong', 'x-forwarded-for': address };
    const response = await gateway.fetch('/admin/rate-limits', { headers });
    await response.text();
    return response.status;
  };
  for (let count = 0; count < 20; count += 1) t.equal(await fail('203.0.113.1'), 401);
  t.equal(await fail('203.0.113.1'), 429);
  t.equal(await fail('203.0.113.2'), 401, 'another client of the same proxy');
  await gateway.applyConfig({ 'gateway.yaml': { server: {} } });
  for (let count = 0; count < 20; count += 1) t.equal(await fail(`203.0.113.${count}`), 401);
  t.equal(await fail('203.0.113.99'), 429, 'without trust the header is only text');
});
