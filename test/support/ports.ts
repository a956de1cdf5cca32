// Ephemeral ports of 127.0.0.1, because no test uses a fixed port.
import { createServer, type Server } from 'node:net';

/** Listens on 127.0.0.1 (port 0: any free one) and gives the port. */
export function listen(server: Server, port = 0): Promise<number> {
  return new Promise((done, fail) => {
    server.once('error', fail);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', fail);
      const address = server.address();
      if (address === null || typeof address === 'string') fail(new Error('no port'));
      else done(address.port);
    });
  });
}

/** A port that was free a moment ago, for programs that cannot choose one themselves. */
export async function freePort(): Promise<number> {
  const server = createServer();
  const port = await listen(server);
  await new Promise((closed) => server.close(closed));
  return port;
}
