// The address in a log line is the one a socket is bound to.
import { createServer } from 'node:net';
import { test } from 'tap';
import { boundAddress } from '../../plane/bound-address.ts';

await test('the address is the bound one, with brackets around IPv6', async (t) => {
  const written: Record<string, RegExp> = {
    '127.0.0.1': /^http:\/\/127\.0\.0\.1:[1-9]\d+$/,
    '0.0.0.0': /^http:\/\/0\.0\.0\.0:[1-9]\d+$/,
  };
  for (const [host, form] of Object.entries(written)) {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, host, resolve));
    t.match(boundAddress(server.address()), form);
    server.close();
  }
  t.equal(boundAddress({ address: '::', family: 'IPv6', port: 80 }), 'http://[::]:80');
  t.throws(() => boundAddress(null), /does not listen/);
  t.throws(() => boundAddress('/run/socket'), /does not listen/);
});
