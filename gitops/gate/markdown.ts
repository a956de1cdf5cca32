// Markdown of comments on pull requests. Pure.

/** With an empty line before it; nothing without rows. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  if (rows.length === 0) return [];
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return ['', line(head), line(head.map(() => '---')), ...rows.map((cells) => line(cells.map(safe)))];
}

/** Names come from clients and operators: none of them may become a link, an image, a mention or HTML. */
export function safe(text: string): string {
  return text
    .replaceAll(/[\\`*_{}[\]<>()#+!|~]/g, '\\$&')
    .replaceAll('@', '@\u200B')
    .replaceAll(/\s+/g, ' ');
}
