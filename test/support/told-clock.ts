// Preloaded by a process whose clock stands still until a request tells it the time in `x-test-now` (Unix milliseconds): a day is served in a minute.
import { subscribe } from 'node:diagnostics_channel';

const RealDate = Date;
let nowMs = Number(process.env['TEST_NOW']);
const origin = performance.timeOrigin;

class ToldDate extends RealDate {
  constructor(...given: unknown[]) {
    super(...((given.length === 0 ? [nowMs] : given) as [number]));
  }

  static override now(): number {
    return nowMs;
  }
}
globalThis.Date = ToldDate as DateConstructor;
performance.now = () => nowMs - origin;

subscribe('http.server.request.start', (message) => {
  const { request } = message as { readonly request: { readonly headers: Record<string, string | undefined> } };
  const told = request.headers['x-test-now'];
  if (told !== undefined) nowMs = Math.max(nowMs, Number(told));
});
