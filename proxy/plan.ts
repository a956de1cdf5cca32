// The program of `model-gateway plan`. It is a command, not a part of the proxy that serves.
import { ownVariables } from './environment.ts';
import { plan } from './replay/plan/plan.ts';

if (import.meta.main) {
  const { output, code } = await plan(process.argv.slice(2), { environment: ownVariables(), nowMs: Date.now() });
  process.stdout.write(`${output}\n`);
  process.exitCode = code;
}
