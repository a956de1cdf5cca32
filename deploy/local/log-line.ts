// Formats a JSON log line of a child for the terminal.

export interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** The members of every line; the terminal shows the name of the process instead. */
const framing = new Set(['level', 'msg', 'time', 'name', 'service', 'plane', 'instance', 'version']);
/** The place of a problem of the config, and how its message begins then. */
const place = new Set(['file', 'line', 'column', 'path']);

/** The parts of a JSON log line, or nothing when the text is not one. */
export function parseLogLine(text: string): LogLine | undefined {
  if (!text.startsWith('{')) return undefined;
  try {
    const parsed: Record<string, unknown> = JSON.parse(text);
    const { level, msg } = parsed;
    const message = typeof msg === 'string' ? msg : '';
    const isPlaced = message.includes(
      `${String(parsed['file'])}:${String(parsed['line'])}:${String(parsed['column'])}`,
    );
    const isShown = (key: string): boolean => !framing.has(key) && !(isPlaced && place.has(key));
    const fields = Object.fromEntries(Object.entries(parsed).filter(([key]) => isShown(key)));
    return { level: typeof level === 'string' ? level : 'info', message, fields };
  } catch {
    return undefined;
  }
}

/** `proxy  warn  message  key=value`, or the text itself when it is not a JSON log line. */
export function renderLogLine(name: string, text: string): string {
  const line = parseLogLine(text);
  if (line === undefined) return harmless(`${name.padEnd(13)}  ${text}`);
  const fields = Object.entries(line.fields).map(([key, value]) => `${key}=${renderValue(value)}`);
  return harmless([name.padEnd(13), line.level.padEnd(5), line.message, ...fields].join('  '));
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
  if (typeof value === 'object' && value !== null && 'message' in value && typeof value.message === 'string') {
    return JSON.stringify(value.message);
  }
  return JSON.stringify(value);
}
