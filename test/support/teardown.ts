// Cleans up at the end of a test; the one place that registers such steps.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The part of a tap test that the harness needs; `t` itself fits. */
export interface Teardown {
  teardown(cleanUp: () => unknown): unknown;
}

/** An empty directory under the system's temporary one, removed when the test ends. */
export function temporaryDirectory(t: Teardown, name = 'gateway'): string {
  const directory = mkdtempSync(join(tmpdir(), `${name}-`));
  // What is still open may write a file at that moment, and then the directory is not empty.
  t.teardown(() => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }));
  return directory;
}
