// The field for the key: typed, or made for an hour.
import { useId, useState } from 'preact/hooks';
import { useCell } from '../../cell.ts';
import { html, type View } from '../../html.ts';
import { fieldText } from '../../parts/dialog.ts';
import { ForRole } from '../../parts/for-role.ts';
import { Countdown } from '../../parts/time-text.ts';
import type { Who } from '../../session-state.ts';
import { forgetKey, issueTrialKey, trialKey, typeKey } from './trial-key.ts';

export function KeyField({ who }: { readonly who: Who }): View {
  const { value, issued } = useCell(trialKey);
  const id = useId();
  if (issued !== undefined)
    return html`<div class="field">
      <span class="field-name">Key</span>
      <p class="small">${issued.name}, for <code class="foreign">${issued.user_path ?? '/'}</code>${
        issued.expires_at !== undefined && html`, ends in <${Countdown} at=${issued.expires_at} over="a moment" />`
      } <button type="button" class="row" onClick=${() => void forgetKey().catch(() => undefined)}>Delete it</button></p>
    </div>`;
  return html`<div class="field">
      <label for=${id}>Key</label>
      <input id=${id} type="password" autocomplete="off" spellcheck="false" value=${value} placeholder="sk-gw-…" aria-describedby=${`${id}-hint`} onInput=${(event: Event) => typeKey(fieldText(event).trim())} />
      <p class="small quiet" id=${`${id}-hint`}>It pays and is limited as for any client. It stays in the memory of this window, until you log out or reload.</p>
    </div>
    ${value === '' && html`<${ForRole} needs="admin"><${NewKey} who=${who} /></${ForRole}>`}`;
}

function NewKey({ who }: { readonly who: Who }): View {
  const [path, setPath] = useState(who.user_path);
  const [problem, setProblem] = useState('');
  const [isBusy, setBusy] = useState(false);
  const id = useId();
  const issue = async (): Promise<void> => {
    setBusy(true);
    setProblem('');
    try {
      await issueTrialKey(path, who.key_name ?? 'the master key');
    } catch (error) {
      setBusy(false);
      setProblem((error as Error).message);
    }
  };
  return html`<div class="field new-key">
    <label for=${id}>Or a new one, for the user path</label>
    <div class="beside">
      <input id=${id} class="code" value=${path} autocomplete="off" spellcheck="false" onInput=${(event: Event) => setPath(fieldText(event))} />
      <button type="button" disabled=${isBusy} onClick=${() => void issue()}>Make a key for an hour</button>
    </div>
    ${problem !== '' && html`<p class="small problem" role="alert">${problem}</p>`}
  </div>`;
}
