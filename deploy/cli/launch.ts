// What `model-gateway` starts: npm may run it with an old Node, so it looks for a new one first. A build of this file runs on Node 18.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';

/** The oldest Node that runs the gateway, as `engines` in package.json says. */
const [oldestMajor, oldestMinor] = [24, 9];
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) {
  const { runCommand } = await import('./run-command.ts');
  await runCommand(process.argv.slice(2));
} else {
  const node = nodeOfPackage();
  if (node === undefined) {
    process.stderr.write(
      `model-gateway needs Node ${oldestMajor}.${oldestMinor} or newer; this is ${process.versions.node}\n`,
    );
    process.exitCode = 1;
  } else runWith(node);
}

/** The Node that npm has installed beside the gateway on Linux. */
function nodeOfPackage(): string | undefined {
  let folder = new URL('.', import.meta.url);
  for (;;) {
    const file = new URL(`node_modules/node-${process.platform}-${process.arch}/bin/node`, folder);
    if (existsSync(file)) return decodeURIComponent(file.pathname);
    const parent = new URL('..', folder);
    if (parent.href === folder.href) return undefined;
    folder = parent;
  }
}

function runWith(node: string): void {
  const [, file = '', ...args] = process.argv;
  const child = spawn(node, [file, ...args], { stdio: 'inherit' });
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
  });
}
