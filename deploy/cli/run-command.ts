// `model-gateway COMMAND`: one command for what the product does. A program takes the place of this process, so that a signal reaches it.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { didYouMean } from '../../schemas/validation/suggest.ts';
import type { ProgramCommand } from './commands.ts';
import { programCommand } from './programs.ts';
import { commands, help } from './table.ts';

const names = commands.map(({ name }) => name);
/** Signals that a person or a supervisor sends, for systems that cannot replace a process. */
const signals = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR2'] as const;

export async function runCommand([name, ...args]: readonly string[]): Promise<void> {
  if (name === undefined || name === '--help' || name === '-h') return say(help, name === undefined ? 2 : 0);
  const wanted = name === '--version' ? 'version' : name === 'help' ? (args.shift() ?? '') : name;
  const command = commands.find((each) => each.name === wanted);
  if (command === undefined) return say(`there is no command ${wanted}${didYouMean(wanted, names)}\n\n${help}`, 2);
  const asksHelp = name === 'help' || args.includes('--help') || args.includes('-h');
  if (asksHelp && command.help !== undefined) return say(command.help, 0);
  if ('program' in command) return startProgram(command, asksHelp ? ['--help'] : args);
  try {
    const { output, code, isReport = code === 0 } = await command.run(args);
    say(output, code, isReport);
  } catch (error) {
    const isWrong = (error as { code?: unknown }).code?.toString().startsWith('ERR_PARSE_ARGS') === true;
    const { message } = error as Error;
    say(isWrong ? `${message}\nusage: model-gateway ${wanted} ${command.usage}` : message, isWrong ? 2 : 1);
  }
}

function say(text: string, code: number, isReport: boolean = code === 0): void {
  (isReport ? process.stdout : process.stderr).write(`${text}\n`);
  process.exitCode = code;
}

function startProgram(
  { name, usage, program, programFor, argumentsFor }: ProgramCommand,
  args: readonly string[],
): void {
  const own = args[0] === '--help' || argumentsFor === undefined ? args : argumentsFor(args);
  if (own === undefined) {
    say(`usage: model-gateway ${name} ${usage}`, 2);
    return;
  }
  const words = [...programCommand(programFor?.(own) ?? program), ...own];
  if (process.platform !== 'win32') process.execve?.(process.execPath, [process.execPath, ...words], process.env);
  const child = spawn(process.execPath, words, { stdio: 'inherit' });
  for (const signal of signals) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
  });
}
