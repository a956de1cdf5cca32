// Runs test files one after the other in this process, each as one subtest: node test/together.ts a.test.ts b.test.ts
// The start of a process, and the import of tap and of the product, take longer than most files do.
import { flushCompileCache, registerHooks } from 'node:module';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const limitMs = Number(process.env['TAP_TIMEOUT'] ?? 30) * 1_000;
/** After its time was up, a file may take so long to end; after the last file, the process. */
const graceMs = 30_000;

const support = (name: string): string => new URL(`support/${name}`, import.meta.url).href;

// Before the import of tap, which has a dependency replaced.
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'async-hook-domain'
      ? { url: support('tap-domain.ts'), format: 'module-typescript', shortCircuit: true }
      : next(specifier, context),
});
const { t } = await import('tap');
const { enter } = await import('./support/tap-of-file.ts');

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'tap'
      ? { url: support('tap-of-file.ts'), format: 'module-typescript', shortCircuit: true }
      : next(specifier, context),
});

for (const file of process.argv.slice(2)) {
  // Tells the runner too, which waits that long for each file.
  t.setTimeout(limitMs + graceMs);
  await t.test(file, { timeout: limitMs }, async (test) => {
    enter(test);
    await import(pathToFileURL(resolve(file)).href);
  });
  // The processes that the other files start read it.
  flushCompileCache();
}
// What a file leaves open would hold the process up.
t.setTimeout(graceMs);
