// Preloaded into a process (`--import`): notes each turn of the event loop that took long. Written to TURNS_FILE at the end.
import { writeFileSync } from 'node:fs';
import type { LongTurn } from './changes.ts';

const longMs = 3;
const turns: LongTurn[] = [];
let lastMs = performance.now();

setInterval(() => {
  const nowMs = performance.now();
  const ms = nowMs - lastMs;
  if (ms > longMs) turns.push({ atMs: performance.timeOrigin + nowMs, ms });
  lastMs = nowMs;
}, 1).unref();

process.on('exit', () => writeFileSync(process.env['TURNS_FILE'] ?? 'turns.json', JSON.stringify(turns)));
