// Loaded into every process of a local start before its own code: without its parent it asks itself to stop.
import { isMainThread } from 'node:worker_threads';

if (isMainThread) {
  const parent = Number(process.env['LOCAL_START_PID']);
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    // Once only: to a process that is stopping, a second signal means at once.
    clearInterval(watch);
    process.kill(process.pid, 'SIGTERM');
  }, 250);
  watch.unref();
}
