// The program of `model-gateway check --test`. It is a command, not a part of the proxy that serves.
import { timestamp } from '../domain/timestamp.ts';
import { checkWithTests } from './config-tests/check-with-tests.ts';
import { ownVariables } from './environment.ts';

if (import.meta.main) {
  const { output, code } = await checkWithTests(process.argv.slice(2), {
    environment: ownVariables(),
    today: timestamp(Date.now()).slice(0, 10),
    nowMs: () => performance.now(),
  });
  if (output !== '') process.stdout.write(`${output}\n`);
  process.exitCode = code;
}
