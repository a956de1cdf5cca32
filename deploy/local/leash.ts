// Loaded into every process of a local start before its code: stops the process when its parent has ended.
import { isMainThread } from 'node:worker_threads';

// A worker of the proxy ends with the proxy.
if (isMainThread && process.send === undefined) {
  const parent = Number(process.env['LOCAL_START_PID']);
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    // Once only, because a second signal would end the process without draining.
    clearInterval(watch);
    process.kill(process.pid, 'SIGTERM');
  }, 250);
  watch.unref();
}
