// Says on every page that a revision of the configuration is pinned, and ends the pin.
import { useState } from 'preact/hooks';
import { html, type View } from '../html.ts';
import { useLoad } from '../load.ts';
import type { Who } from '../session-state.ts';
import { ConfirmDialog } from './dialog.ts';
import { ForRole } from './for-role.ts';
import { Countdown } from './time-text.ts';
import { write } from './writes.ts';

/** A part of the answer of /admin/config/pin. */
export interface PinState {
  readonly config_revision: string;
  readonly pin: {
    readonly revision: string;
    readonly reason: string;
    readonly expires_at: string;
    readonly updated_by: string;
  } | null;
  readonly waiting_revision: string | null;
  readonly waiting_problems: readonly string[];
  readonly unusable: readonly { readonly where: string; readonly problem: string }[];
}

export const pinPath = '/admin/config/pin';

/** Operators of a part of the gateway do not see it. */
export function PinBanner({ who }: { readonly who: Who }): View {
  const { body, reload } = useLoad<PinState>(who.scoped ? undefined : pinPath, 5_000);
  const [isEnding, setEnding] = useState(false);
  const close = (): void => setEnding(false);
  const ended = (): void => {
    close();
    reload();
  };
  const pin = body?.pin ?? null;
  return html`<div class="banner-place" role="status" aria-label="Pin of the configuration">
    ${
      body !== undefined &&
      pin !== null &&
      html`<div class="banner">
        <span><strong>The configuration is pinned</strong> to <code>${pin.revision}</code> for <${Countdown} at=${pin.expires_at} over="a moment" />, by <code>${pin.updated_by}</code>: ${pin.reason} ${waitingWords(body)}
          ${body.unusable.map(({ where, problem }) => html`<br />Cannot be put in force on <code>${where}</code>: ${problem}`)}</span>
        <${ForRole} needs="admin" isWhole><button onClick=${() => setEnding(true)}>End the pin</button></${ForRole}>
      </div>`
    }
    ${isEnding && body !== undefined && html`<${EndPin} of=${body} onDone=${ended} onClose=${close} />`}
  </div>`;
}

function waitingWords({ waiting_revision: waiting, waiting_problems: problems }: PinState): string {
  if (waiting === null) return '';
  return problems.length === 0 ? `Revision ${waiting} waits.` : `Revision ${waiting} waits, and has mistakes.`;
}

interface EndPinProps {
  readonly of: PinState;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

function EndPin({ of, onDone, onClose }: EndPinProps): View {
  const { waiting_revision: waiting, waiting_problems: problems } = of;
  const confirm = async (): Promise<void> => {
    await write('The pin of the configuration: ended', pinPath, { method: 'DELETE' });
    onDone();
  };
  const effect =
    waiting === null
      ? 'The directory holds the same, so nothing else changes.'
      : problems.length === 0
        ? `Revision ${waiting}, which the directory holds, is put in force on all proxies.`
        : `Revision ${waiting}, which the directory holds, has mistakes, so the pinned revision stays in force until they are repaired.`;
  return html`<${ConfirmDialog} title="End the pin of the configuration" action="End the pin" onConfirm=${confirm} onClose=${onClose}>
    <p>${effect}</p>
  </${ConfirmDialog}>`;
}
