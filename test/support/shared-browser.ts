// One browser for the test files of a process; apart from browser.ts, because tap ends a benchmark that imports it after 30 s.
// A new context takes six times as long as a page in a tab that is there, and a new tab three times.
import { startBrowser, type TestBrowser } from './browser.ts';
import { wholeProcess } from './tap-of-file.ts';

let shared: Promise<TestBrowser> | undefined;

/** Started by the first caller; ends with the process. */
export function shareBrowser(): Promise<TestBrowser> {
  shared ??= startBrowser(wholeProcess);
  return shared;
}
