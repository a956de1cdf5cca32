// Closes the control plane's server: no new connections; open requests are answered, idle connections closed.
import type { Server } from 'node:http';

/** Maximum time from the signal to the exit; after it the process exits with open requests. Milliseconds. */
export const closeGraceMs = 10_000;
/** Interval between searches for idle connections. Milliseconds. */
const sweepMs = 20;

/** Closes the server; resolves when every open request was answered. */
export async function drain(app: { readonly server: Server; close(): PromiseLike<unknown> }): Promise<void> {
  // A connection that becomes idle after the listener has closed would otherwise stay open.
  const sweep = setInterval(() => app.server.closeIdleConnections(), sweepMs);
  await app.close();
  clearInterval(sweep);
}
