// Requests /health continuously in a separate thread: measures how long other clients wait during a test.
import { Worker } from 'node:worker_threads';
import type { Teardown } from './teardown.ts';

/** The figures of the probe since the last look, in milliseconds. */
export interface ProbeFigures {
  readonly answers: number;
  /** Answers that were not 200, and connections that broke. */
  readonly failures: number;
  readonly p99Ms: number;
  readonly slowestMs: number;
}

export interface HealthProbe {
  look(): Promise<ProbeFigures>;
}

/** On one connection, which is opened anew when it breaks; the next question is asked 5 ms after an answer. */
const program = `
const { connect } = require('node:net');
const { parentPort, workerData } = require('node:worker_threads');
let times = [];
let failures = 0;
let askedMs = performance.now();
let socket;
const ask = () => {
  askedMs = performance.now();
  socket.write('GET /health HTTP/1.1\\r\\nHost: gateway.test\\r\\n\\r\\n');
};
const open = () => {
  socket = connect({ port: workerData, host: '127.0.0.1', noDelay: true });
  socket.on('connect', ask);
  socket.on('data', (bytes) => {
    times.push(performance.now() - askedMs);
    if (!bytes.toString('latin1').startsWith('HTTP/1.1 200')) failures += 1;
    setTimeout(ask, 5);
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    failures += 1;
    setTimeout(open, 50);
  });
};
parentPort.on('message', () => {
  // What it still waits for counts, too.
  const waitedMs = performance.now() - askedMs;
  const sorted = [...times, ...(times.length === 0 ? [waitedMs] : [])].sort((a, b) => a - b);
  const p99Ms = sorted[Math.floor(sorted.length * 0.99)];
  parentPort.postMessage({ answers: times.length, failures, p99Ms, slowestMs: Math.max(sorted.at(-1), waitedMs) });
  times = [];
  failures = 0;
});
open();
`;

/** Begins at once, and ends with the test. */
export function startHealthProbe(t: Teardown, port: number): HealthProbe {
  const worker = new Worker(program, { eval: true, workerData: port });
  t.teardown(() => worker.terminate());
  const failed = new Promise<never>((_, fail) => worker.once('error', fail));
  return {
    look() {
      const answered = new Promise<ProbeFigures>((done) => worker.once('message', done));
      worker.postMessage('look', []);
      return Promise.race([answered, failed]);
    },
  };
}
