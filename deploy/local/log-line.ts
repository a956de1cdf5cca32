// Formats a JSON log line of a child for the terminal.

export interface LogLine {
  readonly level: number;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

const levelNames: Readonly<Record<number, string>> = { 10: 'trace', 20: 'debug', 30: 'info', 40: 'warn', 50: 'error' };

const framing = new Set(['level', 'msg', 'time', 'pid', 'hostname', 'plane', 'name']);

/** The parts of a JSON log line, or nothing when the text is not one. */
export function parseLogLine(text: string): LogLine | undefined {
  if (!text.startsWith('{')) return undefined;
  try {
    const parsed: Record<string, unknown> = JSON.parse(text);
    const { level, msg } = parsed;
    const fields = Object.fromEntries(Object.entries(parsed).filter(([key]) => !framing.has(key)));
    return { level: typeof level === 'number' ? level : 30, message: typeof msg === 'string' ? msg : '', fields };
  } catch {
    return undefined;
  }
}

/** `proxy  warn  message  key=value`, or the text itself when it is not a JSON log line. */
export function renderLogLine(name: string, text: string): string {
  const line = parseLogLine(text);
  if (line === undefined) return harmless(`${name.padEnd(13)}  ${text}`);
  const level = (levelNames[line.level] ?? 'fatal').padEnd(5);
  const fields = Object.entries(line.fields).map(([key, value]) => `${key}=${renderValue(value)}`);
  return harmless([name.padEnd(13), level, line.message, ...fields].join('  '));
}

/** Escapes control characters, which could move the cursor or overwrite the screen. */
function harmless(text: string): string {
  return text.replace(/[^\P{Cc}\n\t]/gu, '?');
}

function renderValue(value: unknown): string {
  if (typeof value === 'string' && /^[^\s"=]+$/.test(value)) return value;
  if (typeof value === 'object' && value !== null && 'stack' in value && typeof value.stack === 'string') {
    return value.stack;
  }
  return JSON.stringify(value);
}
