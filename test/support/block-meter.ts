// Loaded into a process with --import: measures how long the turns of its event loop take, and tells it on BLOCK_METER_PORT.

/** Without `import … from 'node:http'`, as in plane/http.ts. */
const { createServer } = process.getBuiltinModule('node:http');
const { isMainThread } = process.getBuiltinModule('node:worker_threads');

let longestMs = 0;
let lastMs = threadMs();

/** Time of this thread, so that a machine that gives the processor to another process is not taken for a block. */
function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

function note(): void {
  const now = threadMs();
  longestMs = Math.max(longestMs, now - lastMs);
  lastMs = now;
}

const sample = JSON.stringify(Array.from({ length: 20_000 }, (_, index) => ({ index, name: `entry ${index}` })));

/** Milliseconds that work of a known size takes. */
function calibrate(): number {
  const began = threadMs();
  for (let round = 0; round < 3; round += 1) JSON.parse(sample);
  return threadMs() - began;
}

setInterval(note, 1).unref();
const server = createServer((_, response) => {
  note();
  const said = { longestMs, calibrationMs: calibrate() };
  longestMs = 0;
  lastMs = threadMs();
  response.end(JSON.stringify(said));
});
// Threads of the process are loaded with it, too.
if (isMainThread) server.listen(Number(process.env['BLOCK_METER_PORT']), '127.0.0.1').unref();
