// Loads the packages that only some configurations need, before files are read: the compiler of JSON Schemas, the parser of conditions.
import { loadFormCompiler } from '../../schemas/validation/answer-form.ts';
import { loadExpressionParser } from '../../schemas/validation/parse-expression.ts';
import type { SourceFile } from '../read/read.ts';

/** Resolves when these files can be read, and the configuration that they make can be compiled. */
export async function loadParsers(files: readonly SourceFile[]): Promise<void> {
  if (someHave(files, 'guardrails', 'schema')) await loadFormCompiler();
  const conditional = ['aliases', 'identities', 'client_certificates'];
  if (conditional.some((section) => someHave(files, section, 'when'))) await loadExpressionParser();
}

/** Whether one of them may have such a section with such a key. */
function someHave(files: readonly SourceFile[], section: string, key: string): boolean {
  return files.some(({ bytes }) => {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    return text.includes(section) && text.includes(key);
  });
}
