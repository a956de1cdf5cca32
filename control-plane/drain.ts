// The end of the control plane's server: no new connections, and no old one that is waited for in vain.
import type { Server } from 'node:http';

/** How long the process may take to end; past that it ends with requests open. Milliseconds. */
export const closeGraceMs = 10_000;
/** How often idle connections are looked for. Milliseconds. */
const sweepMs = 20;

/** Closes the server; resolves when every open request was answered. */
export async function drain(app: { readonly server: Server; close(): PromiseLike<unknown> }): Promise<void> {
  // Connections whose last answer goes out after the listener has closed would otherwise linger.
  const sweep = setInterval(() => app.server.closeIdleConnections(), sweepMs);
  await app.close();
  clearInterval(sweep);
}
