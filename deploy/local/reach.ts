// Checks addresses on this machine: whether a port is free, and whether a server answers.
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** An address that is about to be used, and the variable that changes it. */
export interface WantedPort {
  readonly variable: string;
  readonly port: string;
  /** Default 127.0.0.1. */
  readonly host?: string | undefined;
}

/** One line per port that another process uses. The children report other problems of an address. */
export async function takenPorts(wanted: readonly WantedPort[]): Promise<string[]> {
  const usable = wanted.filter(({ port }) => /^\d{1,5}$/.test(port) && Number(port) <= 65_535);
  const taken = await Promise.all(usable.map(({ host, port }) => isTaken(host || '127.0.0.1', Number(port))));
  return usable
    .filter((_, index) => taken[index])
    .map(({ variable, port }) => `Port ${port} is in use: set ${variable} to a free port, or stop what runs there.`);
}

/** Resolves when a GET is answered with 200. */
export async function waitUntilReady(url: string): Promise<void> {
  for (;;) {
    const status = await fetch(url).then(
      (response) => response.arrayBuffer().then(() => response.status),
      () => undefined,
    );
    if (status === 200) return;
    await sleep(20);
  }
}

async function isTaken(host: string, port: number): Promise<boolean> {
  const probe = createServer();
  return new Promise((resolve) => {
    probe.on('error', (error) => resolve('code' in error && error.code === 'EADDRINUSE'));
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(false)));
  });
}
