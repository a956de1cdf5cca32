// The program of `model-gateway check DIR`. What it does is in a file of its own, because a build puts what several programs import elsewhere.
import { timestamp } from '../../domain/timestamp.ts';
import { checkConfig } from './check-directory.ts';

// This file is the entry of a process, so it reads the environment variables and the clock itself.
if (import.meta.main) {
  const today = timestamp(Date.now()).slice(0, 10);
  const { output, code } = await checkConfig(process.argv.slice(2), process.env, today);
  if (output !== '') process.stdout.write(`${output}\n`);
  process.exitCode = code;
}
