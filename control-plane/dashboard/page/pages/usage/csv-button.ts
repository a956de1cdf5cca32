// Saves what the page shows as a table for spreadsheets. The API is asked as the page asks it, so that days are those of the viewer.
import { useState } from 'preact/hooks';
import { ask } from '../../api.ts';
import { html, type View } from '../../html.ts';
import { keepFile } from '../../keep-file.ts';

export interface CsvButtonProps {
  readonly path: string;
  readonly query: URLSearchParams;
}

export function CsvButton({ path, query }: CsvButtonProps): View {
  const [said, say] = useState('');
  const [isBusy, setBusy] = useState(false);
  const save = async (): Promise<void> => {
    setBusy(true);
    try {
      const csv = new URLSearchParams([...query, ['format', 'csv']]);
      const { body, headers } = await ask<string>(`${path}?${csv}`, { headers: { accept: 'text/csv' } });
      keepFile(
        body,
        `${ofPath(query.get('user_path'))}${/filename="([^"]+)"/.exec(headers.get('content-disposition') ?? '')?.[1] ?? 'usage.csv'}`,
        'text/csv',
      );
      say(headers.get('x-gateway-truncated') === null ? 'Saved' : 'Saved; only the first 100,000 rows');
    } catch (error) {
      say((error as Error).message);
    }
    setBusy(false);
  };
  return html`<span class="small quiet" role="status">${said}</span>
    <button onClick=${() => void save()} disabled=${isBusy}>${isBusy ? 'Saving…' : 'Save as CSV'}</button>`;
}

/** `team-a-app-` of `/team-a/app`. */
function ofPath(userPath: string | null): string {
  const words = (userPath ?? '').match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.map((word) => `${word}-`).join('');
}
